/**
 * Exchanges with the same key at the same time share one check: a popular token would otherwise bring as many calls as
 * requests whenever its verdict has run out.
 */
import { type Exchange, STEP_REQUEST } from '#engine/contract/exchange.ts'
import type { PendingCheck, VerdictCache, Waiter } from './cache.ts'
import type { CheckSender } from './grpc.ts'
import type { Decision, Failed } from './verdict.ts'

/** Of one check. Those that come when it has so many make a call of their own. */
const WAITERS_MAX = 1000

export type KeyedCheckSender = (ex: Exchange, key: string, done: Waiter['done']) => void

/** For a key that `cache` has no verdict of. */
export function singleFlight(send: CheckSender, cache: VerdictCache): KeyedCheckSender {
  const alone = (key: string, { ex, done }: Waiter): void =>
    send(ex, (decision) => {
      const kept = done(decision)
      if (kept !== null) cache.keep(key, kept)
    })

  const lead = (key: string, check: PendingCheck, leader: Waiter): void =>
    send(leader.ex, (decision) => {
      // Its client has gone, and the call with it: that is no answer for the others.
      const heir = isGone(leader) ? nextAlive(check) : null
      const kept = leader.done(decision)
      if (heir === null) settle(key, check, decision, kept)
      else lead(key, check, heir)
    })

  const settle = (key: string, check: PendingCheck, decision: Decision | Failed, kept: Decision | null): void => {
    cache.end(key, check)
    if (kept !== null) cache.keep(key, kept)
    const isShared = 'kind' in decision ? decision.isOfRequest !== true : kept?.lifetimeMs !== 0
    for (const waiter of check.waiters) {
      if (isShared || isGone(waiter)) waiter.done(decision)
      else alone(key, waiter)
    }
  }

  return (ex, key, done) => {
    const found = cache.get(key)
    const check = found !== null && 'waiters' in found ? found : null
    if (check === null) lead(key, cache.begin(key), { ex, done })
    else if (check.waiters.length < WAITERS_MAX) check.waiters.push({ ex, done })
    else alone(key, { ex, done })
  }
}

/** Waiters before it have lost their clients: their hooks end, and the answer goes nowhere. */
function nextAlive({ waiters }: PendingCheck): Waiter | null {
  for (let waiter = waiters.shift(); waiter !== undefined; waiter = waiters.shift()) {
    if (!isGone(waiter)) return waiter
    waiter.done(GONE)
  }
  return null
}

const GONE: Failed = { kind: 'failed', detail: 'the client has gone', reply: null }

function isGone({ ex }: Waiter): boolean {
  return ex.step !== STEP_REQUEST
}
