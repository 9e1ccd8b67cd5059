/**
 * Cohere's own chat, `POST /v2/chat` (API reference of Cohere, "Chat", version 2), towards providers: no client speaks
 * it. It says what its compatibility API does not: thoughts and their budget, plans ahead of calls, what was cited,
 * top-k, and tokens as they are charged for.
 */
import type { ProviderFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readSummary } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts } from './guarded-texts.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    cohereV2: null
  }
}

export const cohereV2: ProviderFormat = {
  name: 'cohereV2',
  chatEnd: /\/chat(?=$|\?)/,
  writeRequest,
  readAnswer,
  readSummary,
  streamReader,
  readError,
  writeError,
  answerTexts,
  eventTexts
}
