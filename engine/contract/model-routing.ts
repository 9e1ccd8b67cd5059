/**
 * Why a target of a model was drawn: for expressions, spans and stories (docs/routing.md#why-a-target-was-drawn). It is
 * worked out for exchanges that somebody asks about, and for no others.
 */
import type { Exchange } from './exchange.ts'
import { Slot } from './slot.ts'
import { FOLLOWED, TRACE } from './tracing.ts'

/** Why a target was not among those that one was drawn of. */
export type LeftReason =
  | 'circuit_open'
  | 'probe_under_way'
  | 'unhealthy'
  | 'context_too_long'
  | 'over_share'
  | 'cannot_take_it'
  | 'other_account'
  | 'priority'
  | 'other_list'
  | 'tried'

export interface LeftTarget {
  readonly target: string
  readonly reason: LeftReason
  /** Of `circuit_open`: milliseconds until it is tried again. */
  readonly forMs?: number
}

/** Of the last attempt. Plain data, without secrets: it also goes to other threads. */
export interface ModelRouting {
  /** The word of `routing` in the file, `failover` without one; `stored`: it goes to who keeps what it names. */
  readonly strategy: string
  /** As the file calls it. */
  readonly target: string
  /** Among how many it was drawn, itself included; 0: all of them rest. */
  readonly candidates: number
  /** Of the other targets, those that were not among them. */
  readonly excluded: readonly LeftTarget[]
  /** What decided, of the target: an amount of money, milliseconds, calls under way, percent. Undefined: no number. */
  readonly figure?: number
  /** For people. */
  readonly reason: string
  /** The kind of error that led to it. Undefined: it is the first. */
  readonly fallback?: string
  /** Who gets a copy. Undefined: nobody. */
  readonly shadow?: string
  /** The target whose stream it goes on with. Undefined: none. */
  readonly continues?: string
}

export const MODEL_ROUTING = new Slot<ModelRouting>()

/** Whether anybody asks why `ex` goes where it goes. */
export function asksWhyDrawn(ex: Exchange): boolean {
  if (ex.route?.readsRouting === true) return true
  return ex.slots !== null && (TRACE.get(ex) !== null || FOLLOWED.get(ex) !== null)
}
