/**
 * Silence in streams: clients hear a comment when there was nothing else for a while (proxies between end connections
 * that say nothing), and a provider that says nothing for long is given up. A client that does not read is not the
 * provider's silence: nothing is read from a provider whose client is behind.
 */

import type { Fail } from '#engine/contract/body.ts'
import { sendResponse } from '#engine/contract/body-processor.ts'
import { type BodyTaker, type Exchange, STEP_SENDING } from '#engine/contract/exchange.ts'
import { whenOver } from '#engine/contract/exchange-signal.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { CostTap } from './cost-tap.ts'
import { OuterTap } from './outer-tap.ts'

/** Milliseconds; 0: never. */
export interface Silence {
  /** Of the client's stream, before it gets a comment. */
  readonly keepaliveMs: number
  /** Of the provider, before its stream is ended. */
  readonly stallMs: number
}

/** What becomes of a stream that is silent. */
export interface SilenceOptions {
  readonly silence: Silence
  /** What the client hears. */
  readonly comment: Buffer
  /** Ends the response. */
  readonly fail: Fail
}

/** Clients skip comments (WHATWG HTML, section 9.2.7, recommends one every 15 seconds or so). */
export const KEEPALIVE = Buffer.from(': keepalive\n\n')

const TIMERS = new TimerWheel()

/** A tap whose silence is noticed until it is stopped. */
export class SilenceTap extends OuterTap {
  readonly #pulse: SilenceTimer

  constructor(tap: CostTap, ex: Exchange, watching: SilenceOptions) {
    super(tap)
    const isBetween = () => !tap.cost.isOver && tap.isAtBoundary
    this.#pulse = new SilenceTimer(ex, watching, isBetween)
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const bytes = this.inner.body(ex, chunk, start, end)
    this.#pulse.heard(bytes !== null)
    return bytes
  }

  stop(): void {
    this.#pulse.stop()
  }
}

class SilenceTimer {
  readonly #ex: Exchange
  readonly #watching: SilenceOptions
  /** Whether a comment may be written now. */
  readonly #isBetween: () => boolean
  readonly #timer = new WheelTimer(() => this.#beat())
  #heardAt: number
  #sentAt: number

  constructor(ex: Exchange, watching: SilenceOptions, isBetween: () => boolean) {
    this.#ex = ex
    this.#watching = watching
    this.#isBetween = isBetween
    this.#heardAt = performance.now()
    this.#sentAt = this.#heardAt
    this.#arm(this.#heardAt)
  }

  /** The provider has sent something; `hasSent`: and so has the gateway. */
  heard(hasSent: boolean): void {
    this.#heardAt = turnStartedAt
    if (hasSent) this.#sentAt = this.#heardAt
  }

  stop(): void {
    TIMERS.remove(this.#timer)
  }

  #arm(now: number): void {
    const { keepaliveMs, stallMs } = this.#watching.silence
    const comment = keepaliveMs === 0 ? Number.POSITIVE_INFINITY : this.#sentAt + keepaliveMs
    const stall = stallMs === 0 ? Number.POSITIVE_INFINITY : this.#heardAt + stallMs
    const next = Math.min(comment, stall)
    if (next !== Number.POSITIVE_INFINITY) TIMERS.arm(this.#timer, now, Math.max(next - now, 1))
  }

  #beat(): void {
    const now = performance.now()
    const { keepaliveMs, stallMs } = this.#watching.silence
    const isSilent = stallMs > 0 && now - this.#heardAt >= stallMs
    let hasRoom = true
    if (isSilent || (keepaliveMs > 0 && now - this.#sentAt >= keepaliveMs)) {
      hasRoom = this.#comment()
      this.#sentAt = now
    }
    if (!hasRoom) this.#heardAt = now
    if (isSilent && hasRoom) {
      this.#heardAt = now
      this.#watching.fail(this.#ex, 'UPSTREAM_TIMEOUT')
      // Another provider may have gone on with it.
      if (this.#ex.step !== STEP_SENDING) return
    }
    this.#arm(now)
  }

  /** False: the client is behind, or the response has not begun, since a policy still looks at its head. */
  #comment(): boolean {
    const ex = this.#ex
    if (ex.step !== STEP_SENDING) return false
    const { comment } = this.#watching
    return !this.#isBetween() || sendResponse(ex, comment)
  }
}

/** Gives a provider up that falls silent in a stream that is being collected. */
export function watchCollected(ex: Exchange, silence: Silence, fail: Fail): void {
  const { responseCollector: collector } = ex
  // It has been too long from the start.
  if (collector === null) return
  const kept = new CollectedStreamWatch(collector, silence, () => fail(ex, 'UPSTREAM_TIMEOUT'))
  ex.responseCollector = kept
  whenOver(ex, () => kept.stop())
}

/** Takes what comes, and notices when nothing does for `stallMs`; 0: never. */
class CollectedStreamWatch implements BodyTaker {
  readonly #inner: BodyTaker
  readonly #stallMs: number
  readonly #stalled: () => void
  readonly #timer = new WheelTimer(() => this.#beat())
  #heardAt = performance.now()

  constructor(inner: BodyTaker, { stallMs }: Silence, stalled: () => void) {
    this.#inner = inner
    this.#stallMs = stallMs
    this.#stalled = stalled
    this.#arm(this.#heardAt)
  }

  take(chunk: Buffer, start: number, end: number): boolean {
    this.#heardAt = turnStartedAt
    return this.#inner.take(chunk, start, end)
  }

  end(): void {
    this.stop()
    this.#inner.end()
  }

  stop(): void {
    TIMERS.remove(this.#timer)
  }

  #arm(now: number): void {
    if (this.#stallMs > 0) TIMERS.arm(this.#timer, now, Math.max(this.#heardAt + this.#stallMs - now, 1))
  }

  #beat(): void {
    const now = performance.now()
    if (now - this.#heardAt >= this.#stallMs) this.#stalled()
    else this.#arm(now)
  }
}
