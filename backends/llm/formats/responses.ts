/**
 * OpenAI's Responses API, POST /v1/responses (API reference, "Responses"; types of the official SDK). A response can
 * refer to what the provider keeps (previous_response_id, conversation, prompt, item_reference): this no other format
 * can, nor the gateway.
 */
import type { ChatFormat } from '#backends/llm/format.ts'
import { readError, writeError } from './openai-errors.ts'
import { readAnswer, readCost, writeAnswer } from './responses/answer.ts'
import { readRequest } from './responses/read-request.ts'
import { streamReader } from './responses/stream-read.ts'
import { streamWriter } from './responses/stream-write.ts'
import { writeRequest } from './responses/write-request.ts'

export const responses: ChatFormat = {
  name: 'responses',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader,
  streamWriter,
  readError,
  writeError
}
