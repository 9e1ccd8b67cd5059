/** Predictions of Replicate (HTTP API, predictions.get) of the test's models, which have no tools. */
import { PIECES } from '#backends/demo/models/wire.ts'

const STATE = { id: 'p1', model: 'meta/m', created_at: '2026-01-01T00:00:00Z', error: null, input: {} }
const DONE = { ...STATE, status: 'succeeded', metrics: { input_token_count: 12, output_token_count: 7 } }

/** As mockAnswer of the other formats, with the events that are made of one. */
export function predictionAnswer(isStreamed: boolean) {
  const events = [
    ['prediction', { ...STATE, status: 'processing' }] as const,
    ...PIECES.map((output) => ['output', { output }] as const),
    ['prediction', DONE] as const
  ]
  return { status: 200, whole: { ...DONE, output: PIECES }, events: isStreamed ? events : null }
}

export const PREDICTION_BUSY = {
  status: 429,
  whole: { title: 'Too many requests', detail: 'Request was throttled.', status: 429 },
  events: null
}
