/** Which prompt guard has rejected, for the log; never what it has found. */
import type { AiGuards, AiRejection } from '#backends/llm/config/snapshot.ts'
import type { Detail, Exchange } from '#engine/contract/exchange.ts'

/**
 * Leaves the detail of a rejection on `ex`. A verdict may come from another thread, as a copy: a guard is known by its
 * reply, and where several have the same one all of them are named.
 */
export function noteRejection(ex: Exchange, side: 'request' | 'response', guards: AiGuards, reply: AiRejection): void {
  const detail: Detail = () => rejectDetail(side, guards, reply)
  ex.errorDetail ??= detail
}

/** `promptGuard.request[0] (regex) rejects it`. */
export function rejectDetail(side: 'request' | 'response', guards: AiGuards, reply: AiRejection): string {
  const some = guards[side].flatMap((guard, i) =>
    guard.reply.status === reply.status && guard.reply.message === reply.message ? [`[${i}] (${guard.kind})`] : []
  )
  if (some.length === 0) return `promptGuard.${side} cannot decide: ${reply.message}`
  return `promptGuard.${side}${some.join(' or ')} rejects it`
}
