/**
 * Requests that policies and backends make beside exchanges, over the platform's own client: keys, tokens, guards at
 * URLs. Where a request is only explained they are not made, and who explains it is told of them.
 */
import { type GuardedRequest, guardedFetch, type MayDial } from './guarded-fetch.ts'

type QuestionListener = (question: string) => void

/** Of this thread. */
let hear: QuestionListener | null = null

/** Of this thread; null: any address may be asked. */
let guard: MayDial | null = null

/** From now on only these addresses are asked where the configuration says whom. */
export function guardOutbound(mayDial: MayDial | null): void {
  guard = mayDial
}

/** From now on nothing is sent, and `listener` hears what would be; null: all is as ever. */
export function sendNothing(listener: QuestionListener | null): void {
  hear = listener
}

/** Whether `question` is not to be sent: it has been told instead. */
export function isKeptBack(question: string): boolean {
  if (hear === null) return false
  hear(question)
  return true
}

/**
 * As fetch; what is not sent has no answer. `isOwn`: the address is of the process itself and not of its configuration,
 * as that of the cloud that gives it tokens, and needs no permission.
 */
export function outboundFetch(url: string, init: GuardedRequest, isOwn: boolean): Promise<Response> {
  if (hear === null) {
    return guard === null || isOwn ? fetch(url, { ...init, redirect: 'manual' }) : guardedFetch(url, init, guard)
  }
  const { origin, pathname } = new URL(url)
  hear(`${init.method ?? 'GET'} ${origin}${pathname}`)
  return new Promise(() => {})
}
