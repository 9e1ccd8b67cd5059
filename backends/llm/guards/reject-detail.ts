/** Which rule of which prompt guard has rejected, for the log; never what it has found. */
import type { AiGuard, AiGuards } from '#backends/llm/config/snapshot.ts'
import { withSource } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { noteGuard } from '#engine/contract/guard-verdicts.ts'
import type { Acted, Rejected } from './guard-body.ts'

type Verdict = Omit<Rejected, 'kind' | 'acted'>
type Side = 'request' | 'response'

/** What the guards of one side have done, for the record of `ex`. */
export function noteActed(ex: Exchange, side: Side, acted: Acted): void {
  for (const { guard, action } of acted) noteGuard(ex, { guard: `${side}[${guard}]`, action })
}

/** Leaves the detail of a rejection on `ex`. */
export function noteRejection(
  ex: Exchange,
  side: Side,
  guards: AiGuards,
  { acted, ...verdict }: Omit<Rejected, 'kind'>
): void {
  noteActed(ex, side, acted)
  const action = verdict.failure === undefined ? 'reject' : 'unavailable'
  if (verdict.guard >= 0) noteGuard(ex, { guard: `${side}[${verdict.guard}]`, action })
  ex.errorDetail ??= (refused) => rejectDetail(refused, side, guards, verdict)
}

/** `backends.gpt.promptGuard.request[0].regex.matches[1] (weir.yaml:41:7) rejects it`. */
function rejectDetail(
  { backend, route }: Pick<Exchange, 'backend' | 'route'>,
  side: 'request' | 'response',
  guards: AiGuards,
  { guard: index, rule, reply, failure }: Verdict
): string {
  const guard = guards[side][index]
  if (guard === undefined) return `promptGuard.${side} cannot decide: ${reply.message}`
  const [inside, name] = partOf(guard, rule)
  const path = `promptGuard.${side}[${index}].${inside}`
  const placed = backend === null || route === null ? path : withSource(route, `backends.${backend}.${path}`)
  if (failure !== undefined) return `${placed} cannot decide: ${failure}`
  return `${placed}${name === '' ? '' : `, ${name},`} rejects it`
}

/** Patterns are a user's, and not for a log: they are known by their places. */
function partOf(guard: AiGuard, rule: number): readonly [inside: string, name: string] {
  if (guard.kind !== 'regex') return [guard.kind, '']
  const { builtins } = guard.rules
  const builtin = builtins[rule]
  if (builtin !== undefined) return [`regex.builtins[${rule}]`, builtin]
  return rule < 0 ? ['regex', ''] : [`regex.matches[${rule - builtins.length}]`, '']
}
