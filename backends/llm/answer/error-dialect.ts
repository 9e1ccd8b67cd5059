/**
 * Refusals of a model's client before a backend has seen it (no key, too often, no route): in the format of that
 * client, whose errors are classes by status and type. Also, where such a client shows its key.
 */

import type { FormatName } from '#backends/llm/conversation.ts'
import { asksModel } from '#backends/llm/request/model-path.ts'
import { clientOf, typeOf } from '#backends/llm/routes/index.ts'
import type { Dialect, Exchange } from '#engine/contract/exchange.ts'
import type { KeyLocation } from '#engine/contract/route.ts'
import { errorDialectOf } from './local-replies.ts'

/**
 * Beside `Authorization: Bearer`, in the order in which keys are looked for: of Anthropic's clients, Azure's, Google's.
 * One list for all backends, so that the policies read it once.
 */
export const KEY_PLACES: readonly KeyLocation[] = [
  { kind: 'header', name: 'x-api-key' },
  { kind: 'header', name: 'api-key' },
  { kind: 'header', name: 'x-goog-api-key' },
  { kind: 'query', name: 'key' }
]

/** Paths of the vendors' own APIs, by their ends; what is none of these is no model's where no route leads to one. */
const KNOWN: readonly (readonly [path: RegExp, client: FormatName])[] = [
  [/\/messages(?:\/count_tokens|\/batches)?$/, 'messages'],
  [/\/model\/[^/]+\/converse(?:-stream)?$/, 'converse'],
  [/\/(?:chat\/completions|completions|responses|embeddings|moderations|rerank|v2\/embed)$/, 'completions'],
  [/\/(?:images|audio)\/[a-z]+$/, 'completions']
]

/** Null: as text. */
export function errorDialectAt(routes: Parameters<typeof typeOf>[0], ex: Exchange, isRouted: boolean): Dialect | null {
  const known = asksModel(ex.path) ? 'gemini' : (KNOWN.find(([path]) => path.test(ex.path))?.[1] ?? null)
  if (!isRouted) return known === null ? null : errorDialectOf(known, ex)
  const type = typeOf(routes, ex)
  const client = type === 'PATH_AMBIGUOUS' || type === 'Passthrough' ? known : (clientOf(type, ex) ?? known)
  return client === null ? null : errorDialectOf(client, ex)
}
