/**
 * AWS Bedrock's Converse and ConverseStream (API reference of Amazon Bedrock Runtime), towards providers: no client
 * speaks it.
 *
 * - The model and whether the answer is streamed are in the path: /model/{modelId}/converse and /converse-stream.
 * - Streams are binary: the reader takes the messages that stream/aws-event-stream.ts decodes.
 * - Tool names that break Bedrock's rule are escaped, and read back in answers (names.ts).
 */
import type { ProviderFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readSummary } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts } from './guarded-texts.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    converse: null
  }
}

export const converse: ProviderFormat = {
  name: 'converse',
  chatEnd: /\/converse(?=$|\?)/,
  idField: 'x-amzn-requestid',
  writeRequest,
  readAnswer,
  readSummary,
  streamReader,
  readError,
  writeError,
  answerTexts,
  eventTexts
}
