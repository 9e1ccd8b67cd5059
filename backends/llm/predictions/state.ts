/**
 * What a provider says of a prediction (HTTP API, predictions.get, response), and what is passed on of that: its input
 * and addresses are of no use to a client, and the latter let anybody who has them read along.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { textOfOutput } from '#backends/llm/formats/predictions/content-read.ts'
import { parseJson } from '#engine/kit/json.ts'

export interface State {
  /** Null: it is none that a path can be made of. */
  readonly id: string | null
  readonly status: Status
  /** So far; null: it is no text. */
  readonly text: string | null
  /** Why it has failed; null: it does not say. */
  readonly error: string | null
  readonly body: JsonObject
}

/** "Prediction lifecycle": the last four are its ends. */
const STATUSES = ['starting', 'processing', 'succeeded', 'failed', 'canceled', 'aborted'] as const
export type Status = (typeof STATUSES)[number]

const ID = /^[A-Za-z0-9_-]{1,128}$/
const ERROR_CHARS_MAX = 1000

/** Null: it is no prediction. */
export function stateIn(bytes: Buffer): State | null {
  const body = (parseJson(bytes.toString()) ?? null) as Json
  if (!isObject(body)) return null
  const status = STATUSES.find((word) => word === body.status)
  if (status === undefined) return null
  const { id, error } = body
  return {
    id: typeof id === 'string' && ID.test(id) ? id : null,
    status,
    text: textOfOutput(body.output ?? null),
    error: typeof error === 'string' && error !== '' ? error.slice(0, ERROR_CHARS_MAX) : null,
    body
  }
}

/** What of `body` an answer has. Of its input numbers stay: limits, by which it is told what was cut off. */
export function shown({ body, text }: State): JsonObject {
  const { id = null, model = null, version = null, status = null, created_at = null, metrics = null, input } = body
  const numbers = Object.entries(isObject(input) ? input : {}).filter(([, value]) => typeof value === 'number')
  return { id, model, version, status, created_at, metrics, input: Object.fromEntries(numbers), output: text }
}
