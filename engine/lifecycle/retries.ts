/**
 * Whether and when an exchange is tried again after an attempt that failed (docs/design/011-retries.md).
 * Only exchanges of routes with the policy `retry` come here.
 */

import { endAttemptHeaders } from '#engine/contract/attempt-headers.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, type Exchange, RetryState, STEP_SERVE } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { endReference } from '#engine/contract/reference-filters.ts'
import { resetResponse } from '#engine/contract/resend.ts'
import { RETRY_GATE } from '#engine/contract/resilience.ts'
import { dropKept, keepForRetry } from '#engine/contract/retry.ts'
import type { RouteRetry } from '#engine/contract/route.ts'
import { attemptAnswered, attemptRetrying } from '#engine/contract/tracing.ts'
import type { PendingAttempt } from '#engine/contract/transport.ts'
import { isIdempotent } from '#engine/http/method.ts'
import { keepPiece } from '#engine/kit/pieces.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'

/** An answer that is looked into is taken when so much of it is there, or so long after its head. */
const PEEK_BYTES_MAX = 64 * 1024
const PEEK_MS = 10_000

/** The pause stops growing at this many times its first bound. */
const BACKOFF_GROWTH_MAX = 10

export interface RetryObserver {
  /** Another attempt is going to be made. */
  retried(): void
  /** It would have been, but the budget of the route is spent. */
  refused(): void
}

export interface RetriesOptions {
  readonly timers: TimerWheel
  /** 0 <= x < 1. */
  readonly random: () => number
  readonly observer: RetryObserver | null
  /** Makes an attempt. */
  readonly attempt: (ex: Exchange) => void
  /** Goes on with an answer whose beginning has been looked into. */
  readonly take: (ex: Exchange) => void
}

/** An exchange that waits for its next attempt. */
class Backoff implements PendingAttempt {
  readonly timer: WheelTimer
  readonly #ex: Exchange
  readonly #timers: TimerWheel

  constructor(ex: Exchange, timers: TimerWheel, attempt: (ex: Exchange) => void) {
    this.#ex = ex
    this.#timers = timers
    this.timer = new WheelTimer(() => {
      ex.pending = null
      attempt(ex)
    })
  }

  abort(): void {
    this.#ex.pending = null
    this.#timers.remove(this.timer)
  }
}

export class Retries {
  readonly #options: RetriesOptions

  constructor(options: RetriesOptions) {
    this.#options = options
  }

  /** Before the first attempt: from here on the body is kept. */
  begin(ex: Exchange, route: RouteRetry): void {
    route.budget.request(turnStartedAt)
    const state = new RetryState(route, ex)
    ex.retry = state
    const buffered = ex.heldRequest
    // A body that a hook has collected stays where it is: no second copy.
    if (buffered !== null && ex.requestBytes === null)
      for (const piece of buffered) keepForRetry(ex, state, piece, 0, piece.length)
  }

  /** The attempt ended with `code`, without a response. True: another one follows. */
  afterFault(ex: Exchange, code: ErrorCode): boolean {
    const { plan } = ex.retry!.route
    return isRetryable(ex, code, plan.codes) && this.#again(ex, code)
  }

  /** The head of a response is there. True: it is not taken, and another attempt follows. */
  afterResponse(ex: Exchange): boolean {
    const { plan } = ex.retry!.route
    const wanted = plan.codes.has(ex.status) || (ex.status >= 200 && plan.condition !== null && plan.condition(ex))
    if (wanted && this.#again(ex)) return true
    if (this.#peeks(ex, ex.retry!)) return true
    // Taken: what was kept for another attempt is needed no more.
    dropKept(ex, ex.retry!)
    ex.retry = null
    return false
  }

  #peeks(ex: Exchange, state: RetryState): boolean {
    const { plan } = state.route
    if (ex.responseBody === BODY_NONE || ex.status < 200 || state.count >= plan.attempts) return false
    const peek = plan.peek?.(ex) ?? null
    if (peek === null) return false
    state.peek = peek
    state.peekedBytes = 0
    const { timers } = this.#options
    const timer = new WheelTimer(() => {
      // It may be over, or be looked at in another attempt.
      if (ex.retry !== state || state.peek !== peek || ex.step !== STEP_SERVE) return
      this.#take(ex)
    })
    timers.arm(timer, turnStartedAt, PEEK_MS)
    return true
  }

  /** Bytes of an answer that is not taken yet: they are kept. False: no more for now. */
  beginning(ex: Exchange, chunk: Buffer, start: number, end: number): boolean {
    const state = ex.retry
    if (state === null || state.peek === null || ex.step !== STEP_SERVE) return true
    ex.heldResponse = keepPiece(ex.heldResponse, chunk, start, end)
    state.peekedBytes += end - start
    const verdict = state.peek.look(chunk, start, end)
    if (verdict === 'more' && state.peekedBytes <= PEEK_BYTES_MAX) return true
    if (verdict !== 'again' || !this.#again(ex)) this.#take(ex)
    return true
  }

  /** The same for its end. */
  ended(ex: Exchange, trailers: string): void {
    if (ex.step !== STEP_SERVE || (ex.retry?.peek ?? null) === null) return
    ex.heldTrailers = trailers
    this.#take(ex)
  }

  #take(ex: Exchange): void {
    if (ex.retry !== null) dropKept(ex, ex.retry)
    ex.retry = null
    this.#options.take(ex)
  }

  /** `code`: why the attempt has failed; null: its response is not taken. */
  #again(ex: Exchange, code: ErrorCode | null = null): boolean {
    const { timers, random, observer, attempt } = this.#options
    const state = ex.retry!
    const { plan, budget } = state.route
    if (ex.slots !== null) endAttemptHeaders(ex)
    if (ex.step !== STEP_SERVE || state.count >= plan.attempts) return false
    if (ex.bodySent && state.kept === null && ex.requestBytes === null) return false
    state.allowed ??= plan.precondition === null || plan.precondition(ex)
    if (!state.allowed || plan.mayFollow?.(ex, code) === false) return false
    if (ex.slots !== null && RETRY_GATE.get(ex)?.mayRetry() === false) return false
    if (!budget.take(turnStartedAt)) {
      observer?.refused()
      return false
    }
    observer?.retried()
    state.count++
    if (ex.slots !== null) attemptRetrying(ex, code)
    this.#rewind(ex, state, code)
    const bound = Math.min(plan.backoffMs * 2 ** (state.count - 1), plan.backoffMs * BACKOFF_GROWTH_MAX)
    const pauseMs = Math.ceil(bound * random())
    if (pauseMs === 0) {
      attempt(ex)
      return true
    }
    const backoff = new Backoff(ex, timers, attempt)
    ex.pending = backoff
    timers.arm(backoff.timer, turnStartedAt, pauseMs)
    // Only a reading connection notices that its client leaves. One more piece of the body pauses it again.
    ex.client.resumeBody()
    return true
  }

  /** Gives the attempt up and makes the exchange what it was before it. */
  #rewind(ex: Exchange, state: RetryState, code: ErrorCode | null): void {
    const { server, pending, onRetry } = ex
    ex.onRetry = null
    if (onRetry !== null) onRetry(ex, code)
    ex.server = null
    ex.pending = null
    // A response that is not taken is not read to its end either: the connection is closed.
    server?.abort()
    pending?.abort()
    if (ex.attemptTimer !== null) this.#options.timers.remove(ex.attemptTimer)
    resetResponse(ex)
    state.peek = null
    if (ex.slots !== null) endReference(ex)
    ex.upstreamHost = state.upstreamHost
    if (ex.bodySent) {
      // Pieces that came while nothing was ready are among those kept.
      // A body that a hook has collected is sent from there (lifecycle.onServerReady).
      ex.heldRequest = ex.requestBytes === null ? state.kept!.list : null
      ex.bodySent = false
      // The client has been asked for its body already and must not be asked twice.
      ex.request.remove('expect')
    }
    ex.request.set('x-retry-attempt', String(state.count))
  }
}

function isRetryable(ex: Exchange, code: ErrorCode, codes: ReadonlySet<number>): boolean {
  const { retry, status } = ERRORS[code]
  if (retry === 'never') return false
  if (retry === 'always' || (retry === 'unless-sent' && ex.server === null)) return true
  return (retry !== 'listed' && isIdempotent(ex.method)) || codes.has(status)
}

/** For exchanges that have slots: the head of an answer is here. */
export function headArrived(ex: Exchange): void {
  endAttemptHeaders(ex)
  attemptAnswered(ex)
}

/** What has been looked into came ahead of the tap of its answer, and goes through it as what follows does. */
export function throughTap(ex: Exchange, events: ServerEvents): void {
  const { heldResponse, heldTrailers } = ex
  ex.heldResponse = null
  ex.heldTrailers = null
  if (heldResponse !== null) for (const piece of heldResponse) events.onResponseBody(ex, piece, 0, piece.length, null)
  if (heldTrailers !== null) events.onResponseEnd(ex, heldTrailers)
}
