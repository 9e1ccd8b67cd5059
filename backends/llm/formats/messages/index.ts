/** Anthropic's Messages API (POST /v1/messages), as Anthropic, Vertex AI and Microsoft Foundry serve it. */
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readCost, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { MessagesReader } from './stream-read.ts'
import { MessagesWriter } from './stream-write.ts'

export const messages: ChatFormat = {
  name: 'messages',
  // The second is that of Vertex AI.
  chatEnd: /\/messages(?=$|\?)|\/[^/:]+:rawPredict(?=$|\?)/,
  idField: 'request-id',
  marks: /"message_(?:start|delta|stop)"|"error"/,
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader: () => new MessagesReader(),
  streamWriter: (context, losses) => new MessagesWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts
}
