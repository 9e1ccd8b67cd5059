/** Anthropic's Messages API (POST /v1/messages), as Anthropic, Vertex AI and Microsoft Foundry serve it. */
import type { ChatFormat } from '#backends/llm/format.ts'
import { readAnswer, readCost, writeAnswer } from './messages/answer.ts'
import { readError, writeError } from './messages/errors.ts'
import { readRequest } from './messages/request-read.ts'
import { writeRequest } from './messages/request-write.ts'
import { MessagesReader } from './messages/stream-read.ts'
import { MessagesWriter } from './messages/stream-write.ts'

export const messages: ChatFormat = {
  name: 'messages',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader: () => new MessagesReader(),
  streamWriter: (asked, losses) => new MessagesWriter(asked, losses),
  readError,
  writeError
}
