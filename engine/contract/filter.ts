/**
 * The compiled form of policies. A policy (what the user configures) compiles to hooks that run per
 * exchange, to settings that the engine reads, or to both.
 */

import type { BudgetLimits } from '#engine/kit/retry-budget.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'

/** Run the next hook. */
export const CONTINUE = 0
/** ex.localReply or ex.error is set: skip to the response hooks. */
export const STOP = 1
export type Verdict = typeof CONTINUE | typeof STOP
/** The hook will call back: for waits of every exchange, where a promise costs too much (3 us under load). */
export const LATER = 2

/**
 * A hook that can decide at once returns the verdict itself; only one that truly waits returns a
 * promise (measured: eight synchronous hooks 46 ns, the same awaited 550 ns).
 */
export type Hook = (ex: Exchange) => Verdict | Promise<Verdict>

/** What a backend does with its answer before the response hooks. After LATER it calls `proceed`, in a turn. */
export type AnswerHook = (ex: Exchange, proceed: (ex: Exchange) => void) => Verdict | typeof LATER | Promise<Verdict>

export interface Filter {
  /** Request headers are complete; before a backend is chosen. */
  readonly onRequest?: Hook
  /** Response headers are complete (of the upstream or of a local reply); runs last filter first. */
  readonly onResponse?: Hook
  /**
   * A hook of the filter reads the whole body of that side (ex.requestBytes, ex.responseBytes): the engine waits for
   * its end before the hook runs, and not before the hooks ahead of it have let the exchange pass.
   * 'prefix': only its beginning, up to the same bound (ex.requestPrefix, ex.responsePrefix); then no body is too long.
   */
  readonly buffers?: { readonly request?: boolean | 'prefix'; readonly response?: boolean | 'prefix' }
}

/** Per-route settings that the engine itself executes. Zero means: no limit of its own. */
export interface RouteSettings {
  /** Whole exchange: from the request's head to the last byte of the response. */
  requestTimeoutMs: number
  /** One attempt: from sending the request to the last byte of its response. */
  backendTimeoutMs: number
  /** 'auto': Host becomes the destination's; 'none': it passes; 'default': auto for hostname backends only. */
  hostRewrite: 'auto' | 'none' | 'default'
}

/** What the policy `retry` compiles to. */
export interface RetryPlan {
  /** Attempts after the first one. */
  readonly attempts: number
  /** Statuses that lead to another attempt; also those of the gateway's own errors. */
  readonly codes: ReadonlySet<number>
  /** Upper bound of the first pause; it doubles with every retry. 0: no pause. */
  readonly backoffMs: number
  /** Whether the request may be repeated at all; null: it may. */
  readonly precondition: ((ex: Exchange) => boolean) | null
  /** Whether the response asks for another attempt, beside its status; null: it does not. */
  readonly condition: ((ex: Exchange) => boolean) | null
  readonly budget: BudgetLimits
  /** Whether anybody is left to be asked after this failure (retries.ts); absent: somebody is. */
  readonly mayFollow?: (ex: Exchange, code: ErrorCode | null) => boolean
  /** Looks into an answer before it is taken, where another attempt is left; null: not into this one. */
  readonly peek?: (ex: Exchange) => Peek | null
}

/** The beginning of an answer, while its head is held back. */
export interface Peek {
  /** Bytes [start, end) of `chunk`, valid during the call only. 'again': another attempt is better, if it may be. */
  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again'
}
