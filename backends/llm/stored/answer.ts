/** Answers about what providers keep, as the tenant gets them. Plain data in: a large one is read in another thread. */
import type { ClientFormat, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import type { AnswerSpec } from '#backends/llm/routes/answer-spec.ts'
import { jsonBytes } from '#engine/kit/shared-bytes.ts'
import { sealBody } from './references.ts'
import type { Seal, StoredKind } from './seal.ts'

export interface StoredAnswerSpec extends AnswerSpec {
  readonly of: 'Stored'
  readonly client: ClientFormat
  /** Of what the API is about. */
  readonly kind: StoredKind
  /** Null: ids are the provider's own. */
  readonly seal: Seal | null
  /** The URL of the collection; null: answers have none in them. */
  readonly here: string | null
}

export function storedAnswer({ seal, kind, here }: StoredAnswerSpec, body: Json): JsonObject {
  const sealed = seal === null ? body : sealBody(body, seal, kind)
  return (here === null ? sealed : withResults(sealed, here)) as JsonObject
}

/**
 * Anthropic's clients fetch results from the URL that a batch has ("Retrieve Message Batch results").
 * `here`: the URL of the collection.
 */
export function withResults(body: Json, here: string): Json {
  if (!isObject(body)) return body
  if (Array.isArray(body.data)) return { ...body, data: body.data.map((one) => withResults(one, here)) }
  const { results_url: url, id } = body
  return isString(url) && isString(id) ? { ...body, results_url: `${here}/${id}/results` } : body
}

/** The answer of a chat; null: there is nothing to mark in it, or it is no JSON, which the client may judge. */
export function sealedAnswer(text: string, seal: Seal): Buffer | null {
  try {
    const body = JSON.parse(text) as Json
    const made = sealBody(body, seal, null)
    return made === body ? null : jsonBytes(made as JsonObject)
  } catch {
    return null
  }
}
