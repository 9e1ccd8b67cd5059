/**
 * Messages that are kept in memory: whole bodies for filters and models, beginnings of them, what a retry would send
 * again. Each has a bound of its own, and many at a time would still take all the memory there is: so all of them are
 * on one account of the process. What an exchange keeps is charged to it, and given back with its record, which is
 * made exactly once however it ends.
 */
import { type Exchange, STEP_RECORDED } from './exchange.ts'

export interface HeldBytes {
  /** All that may be kept. */
  readonly max: number
  /** False: there is no room for so many more, and nothing has been charged. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** For tests of parts, and for threads that serve nobody. */
const NO_BOUND: HeldBytes = { max: Number.POSITIVE_INFINITY, take: () => true, give() {} }

let account = NO_BOUND

/** The account of this thread's exchanges from now on; null: none. */
export function useHeldBytes(of: HeldBytes | null): void {
  account = of ?? NO_BOUND
}

/** The most that one message may take. */
export function heldBytesMax(): number {
  return account.max
}

/** `ex` keeps so many bytes more. False: there is no room for them. */
export function hold(ex: Exchange, bytes: number): boolean {
  // What comes behind the record is kept for nobody.
  if (ex.step === STEP_RECORDED || bytes === 0) return true
  if (!account.take(bytes)) return false
  ex.heldBytes += bytes
  return true
}

/** `ex` keeps so many bytes no longer; by default all of them. */
export function letGo(ex: Exchange, bytes: number = ex.heldBytes): void {
  const given = Math.min(bytes, ex.heldBytes)
  if (given === 0) return
  ex.heldBytes -= given
  account.give(given)
}
