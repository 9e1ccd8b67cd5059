/** Which prompt guard has rejected, for the log; never what it has found. */
import type { AiGuard, AiGuards, AiRejection } from '#backends/llm/config/snapshot.ts'
import type { Detail, Exchange } from '#engine/contract/exchange.ts'

/**
 * Leaves the detail of a rejection on `ex`. A verdict may come from another thread, as a copy: a guard is known by its
 * reply, and where several have the same one all of them are named.
 */
export function noteRejection(ex: Exchange, side: 'request' | 'response', guards: AiGuards, reply: AiRejection): void {
  const detail: Detail = () => rejectDetail(side, guards, reply)
  ex.errorDetail ??= detail
}

/** More names of rules are only counted. */
const NAMES_MAX = 4

/** `promptGuard.request[0] (regex: ssn, patterns[0]) rejects it`: what the guard looks for, not what it has found. */
export function rejectDetail(side: 'request' | 'response', guards: AiGuards, reply: AiRejection): string {
  const some = guards[side].flatMap((guard, i) =>
    guard.reply.status === reply.status && guard.reply.message === reply.message ? [`[${i}] (${nameOf(guard)})`] : []
  )
  if (some.length === 0) return `promptGuard.${side} cannot decide: ${reply.message}`
  return `promptGuard.${side}${some.join(' or ')} rejects it`
}

/** A guard by its kind and the rules that it has. Expressions of a user are not for a log. */
function nameOf(guard: AiGuard): string {
  if (guard.kind !== 'regex') return guard.kind
  const { builtins, patterns } = guard.rules
  const names = [...builtins, ...patterns.map((_, i) => `patterns[${i}]`)]
  const rest = names.length - NAMES_MAX
  return `regex: ${names.slice(0, NAMES_MAX).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
}
