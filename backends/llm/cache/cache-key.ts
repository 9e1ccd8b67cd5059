/** What makes two requests equal, and whose answers a client may have. */
import { createHash } from 'node:crypto'
import type { ClientKeys } from '#backends/llm/auth/authenticator.ts'
import type { AiCache } from '#backends/llm/config/snapshot.ts'
import type { JsonObject } from '#backends/llm/conversation.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** Fields of clients that change what a provider answers, or for which of their accounts. */
const FIELDS = ['anthropic-beta', 'anthropic-version', 'openai-beta', 'openai-organization', 'openai-project'] as const

/** Of a body: they decide the form of the answer, and it is kept for all forms. */
const OF_FORM: ReadonlySet<string> = new Set(['stream', 'stream_options'])

/**
 * A digest, 64 characters: credentials are in it. `backend`: its name. `own`: what counts instead of the whole body;
 * null: nothing does.
 */
export function cacheKey(
  ex: Exchange,
  chat: ChatRequest,
  keys: ClientKeys,
  { backend, scope, own }: { readonly backend: string; readonly scope: AiCache['scope']; readonly own: string | null }
): string {
  const body = own ?? JSON.stringify(bodyWithoutForm(chat.body))
  const fields = FIELDS.map((name) => ex.request.get(name) ?? null)
  const query = chat.query
    .replace(/^\?/, '')
    .split('&')
    .filter((part) => part !== 'alt=sse')
  const all = [backend, chat.client, chat.model, tenantOf(ex, keys, scope), fields, query, own !== null, body]
  return createHash('sha256').update(JSON.stringify(all)).digest('hex')
}

/** Its fields, but for those that only decide the form of the answer. */
export const bodyWithoutForm = (body: JsonObject) => Object.entries(body).filter(([name]) => !OF_FORM.has(name))

/** Who the client is, by everything that it has shown. Without anything, all that have shown nothing are one. */
function tenantOf({ identity }: Exchange, { inRequest, consumed }: ClientKeys, scope: AiCache['scope']): unknown {
  if (scope === 'all') return null
  const team = identity?.apiKey?.team
  if (scope === 'team' && typeof team === 'string') return ['team', team, identity!.apiKey!.organisation ?? null]
  const shown = [inRequest, consumed].map(({ key, other }) => [key, other])
  const found =
    identity === null ? null : [identity.apiKey?.id, identity.apiKey?.name, identity.rawKey, identity.basicAuth]
  // Tokens change every few minutes, and their subject does not.
  const { iss, sub } = identity?.jwt ?? {}
  const subject = typeof sub === 'string' ? [iss, sub] : (identity?.rawToken ?? null)
  return subject === null ? [shown, found] : ['subject', subject, found]
}
