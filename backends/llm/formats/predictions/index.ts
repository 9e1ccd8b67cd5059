/**
 * Predictions of Replicate (HTTP API: predictions.create, models.predictions.create), towards providers: no client
 * speaks them. A prediction is a job with an `input` of the model's own; its texts are pieces without roles, calls or a
 * reason to stop. What runs the job is predictions/prediction.ts, and makes the streams that are read here.
 */
import type { ProviderFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readSummary } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts } from './guarded-texts.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    predictions: null
  }
}

export const predictions: ProviderFormat = {
  name: 'predictions',
  chatEnd: /\/predictions(?=$|\?)/,
  writeRequest,
  readAnswer,
  readSummary,
  streamReader,
  readError,
  writeError,
  answerTexts,
  eventTexts
}
