/**
 * OpenAI's Responses API, POST /v1/responses (API reference, "Responses"; types of the official SDK). A response can
 * refer to what the provider keeps (previous_response_id, conversation, prompt, item_reference): this no other format
 * can, nor the gateway.
 */

import { readError, writeError } from '#backends/llm/formats/completions/error.ts'
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readCost, writeAnswer } from './answer.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'
import { ResponsesWriter } from './stream-write.ts'

export const responses: ChatFormat = {
  name: 'responses',
  chatEnd: /\/responses(?=$|\?)/,
  marks: /"response\.(?:completed|incomplete|failed)"|"error"\s*:\s*\{|"type"\s*:\s*"error"/,
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader,
  streamWriter: (context, losses) => new ResponsesWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts
}
