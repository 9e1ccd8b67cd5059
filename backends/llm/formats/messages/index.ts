/** Anthropic's Messages API (POST /v1/messages), as Anthropic, Vertex AI and Microsoft Foundry serve it. */
import type { ServedFormat } from '#backends/llm/formats/served-format.ts'
import { readAnswer, readSummary, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { paths } from './paths.ts'
import { withPrompt } from './prompt.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { MessagesReader } from './stream-read.ts'
import { MessagesWriter } from './stream-write.ts'
import { tolerated } from './tolerated.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    messages: 'Messages'
  }
}

export const messages: ServedFormat<'messages'> = {
  name: 'messages',
  routeType: 'Messages',
  pathEnds: ['/messages'],
  // The second is that of Vertex AI.
  chatEnd: /\/messages(?=$|\?)|\/[^/:]+:rawPredict(?=$|\?)/,
  idField: 'request-id',
  marks: /"message_(?:start|delta|stop)"|"error"/,
  readRequest,
  writeRequest,
  readAnswer,
  readSummary,
  writeAnswer,
  streamReader: () => new MessagesReader(),
  streamWriter: (context, losses) => new MessagesWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts,
  paths,
  tolerated,
  instructions: { fields: ['system'], list: null, write: (body, text) => ({ ...body, system: text }) },
  withPrompt,
  settings: {
    outputs: [
      ['output_config', 'format', 'type'],
      ['output_format', 'type']
    ],
    modalities: null,
    effort: ['output_config', 'effort']
  }
}
