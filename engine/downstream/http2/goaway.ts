/**
 * How a connection is ended without losing a request (RFC 9113 section 6.8): first a GOAWAY that forbids nothing, so
 * that streams which are on their way are still served, then one that names the last of them.
 */
import { goawayFrame, pingFrame } from '#engine/http2/frame-writer.ts'
import { NO_ERROR, STREAM_ID_MAX } from '#engine/http2/protocol.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** For the answer to the PING that follows the first GOAWAY: whatever the client sent before it is here then. */
const ANSWER_MS = 1_000
const QUESTION = 'draining'

export class GracefulGoaway {
  readonly #timers: TimerWheel
  readonly #timer: WheelTimer
  readonly #last: () => void
  #isSent = false

  /** `last`: no more streams are taken from now on. Called once, unless stop() is. */
  constructor(timers: TimerWheel, wire: Wire, last: () => void) {
    this.#timers = timers
    this.#last = last
    this.#timer = new WheelTimer(() => {
      this.#say()
    })
    wire.write(goawayFrame(STREAM_ID_MAX, NO_ERROR) + pingFrame(false, QUESTION))
    timers.arm(this.#timer, turnStartedAt, ANSWER_MS)
  }

  /** A PING has been answered. */
  answered(payload: string): void {
    if (payload === QUESTION) this.#say()
  }

  stop(): void {
    this.#isSent = true
    this.#timers.remove(this.#timer)
  }

  #say(): void {
    if (this.#isSent) return
    this.stop()
    this.#last()
  }
}
