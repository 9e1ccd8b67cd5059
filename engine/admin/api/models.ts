/** How models have fared in the last minutes. */

import { jsonReply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import { MODELS_MAX, type ModelsNow } from '#engine/telemetry/figures/models.ts'
import { type Operation, refusal } from './operation.ts'

const count = () => z.int().min(0)
const times = () => z.strictObject({ p50: z.number(), p99: z.number() }).nullable()

const answer = () =>
  z.strictObject({
    seconds: count().describe('How long ago the counting began: five minutes, but for the first ones after a start.'),
    models: z
      .array(
        z.strictObject({
          provider: z.string().describe('As the conventions for generative AI call it.'),
          model: z.string().describe('By which it was asked for; those that have no room in the metrics are "other".'),
          calls: count(),
          failed: count(),
          errors: z.array(z.strictObject({ type: z.string(), calls: count() })).describe('The most frequent first.'),
          firstTokenMs: times().describe('Until the first piece of streamed answers; null: there was none.'),
          perTokenMs: times().describe('For each token behind it; null: none was measured.')
        })
      )
      .describe('Those that were called, the busiest first.'),
    leftOut: count().describe(`Models that are not counted, since there are more than ${MODELS_MAX}.`)
  })

/** `models`: absent where nothing is counted. */
export function modelsOperation(models: (() => ModelsNow) | undefined): Operation {
  return {
    ...{ id: 'getModels', method: 'GET', path: '/models', tag: 'Gateway', role: 'see' },
    summary: 'How each model has fared in the last five minutes: calls, failures, time to the first token.',
    replies: { 200: { about: 'Of all workers together, from the buckets of the metrics.', schema: answer() } },
    refusals: { 404: 'Nothing is counted here.' },
    answer: () =>
      models === undefined ? refusal(404, 'NOT_FOUND', 'nothing is counted here') : jsonReply(200, models())
  }
}
