/**
 * A service of the user's that passes, rejects or rewrites texts: POST /request and /response. Its requests and answers
 * are described in docs/configuration.md ("Prompt guards"); other gateways speak the same.
 */

import type { AiRejection, AiWebhookGuard } from '#backends/llm/config/snapshot.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { compilePattern } from '#engine/kit/pattern.ts'
import type { Message } from '#engine/kit/scan/body.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { type GuardCall, GuardUnavailable, type Side, type Target, type Verdict } from './service-call.ts'

export function webhookTarget(guard: AiWebhookGuard, side: Side, { fields, services }: GuardCall): Target {
  const { server, timeoutMs, forward } = guard
  const common = { headers: forwarded(forward, fields), timeoutMs }
  if (typeof server === 'string') return { url: `${server}/${side}`, ...common }
  return { service: services.get(guard)!, path: `/${side}`, ...common }
}

/** What it is asked. */
export function webhookQuestion(side: Side, messages: readonly Message[]): object {
  if (side === 'request') return { body: { messages } }
  return { body: { choices: messages.map((message) => ({ message })) } }
}

/** `fallback`: of a rejection that says nothing itself. Throws GuardUnavailable. */
export function webhookVerdict(answer: unknown, side: Side, fallback: AiRejection): Verdict {
  const action = isObject(answer) ? answer.action : null
  if (!isObject(action)) throw new GuardUnavailable('the guard answers without an action')
  const { body, status_code: status } = action
  if (isObject(body))
    return { kind: 'replace', texts: textsOf(side === 'request' ? body.messages : body.choices, side) }
  if (typeof body === 'string' || status !== undefined)
    return { kind: 'reject', reply: rejection(body, status, fallback) }
  if (body === undefined) return { kind: 'pass' }
  throw new GuardUnavailable('the guard answers with an unknown action')
}

function textsOf(list: unknown, side: Side): string[] {
  if (!Array.isArray(list)) throw new GuardUnavailable('the guard masks nothing that it was told')
  return list.map((item: unknown) => {
    const message = side === 'response' && isObject(item) ? item.message : item
    if (isObject(message) && typeof message.content === 'string') return message.content
    throw new GuardUnavailable('the guard answers with a message that has no text')
  })
}

/** What it says itself goes before what the configuration says. */
function rejection(body: unknown, status: unknown, fallback: AiRejection): AiRejection {
  const isStatus = typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599
  return { status: isStatus ? status : fallback.status, message: typeof body === 'string' ? body : fallback.message }
}

/** What frames the request, or belongs to a connection, is this call's own. */
const OWN_FIELDS = new Set([
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'host',
  'accept',
  'expect',
  'upgrade',
  'keep-alive',
  'te',
  'trailer'
])

function forwarded(wanted: AiWebhookGuard['forward'], request: HeaderBlock): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, value } of wanted) {
    const sent = OWN_FIELDS.has(name) ? undefined : request.getAll(name)
    if (sent === undefined) continue
    const matches = 'exact' in value ? sent === value.exact : compilePattern(value.regex).matches(sent)
    if (matches) headers[name] = sent
  }
  return headers
}
