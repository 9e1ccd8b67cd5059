/** Asks a client that says nothing whether it is still there: the settings http2KeepaliveInterval and -Timeout. */
import type { FrontendHttp2 } from '#engine/ir/frontend.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'

export interface KeepaliveOwner {
  /** Sends the question: any sign of life answers it. */
  sendPing(): void
  /** No answer has come. */
  lost(): void
}

export class Keepalive {
  readonly #timers: TimerWheel
  readonly #settings: FrontendHttp2
  readonly #watched: KeepaliveOwner
  readonly #timer: WheelTimer
  #isPingPending = false

  constructor(timers: TimerWheel, settings: FrontendHttp2, watched: KeepaliveOwner) {
    this.#timers = timers
    this.#settings = settings
    this.#watched = watched
    this.#timer = new WheelTimer(() => this.#onTimeout())
    timers.arm(this.#timer, turnStartedAt, settings.pingIntervalMs)
  }

  onFrame(): void {
    this.#isPingPending = false
    this.#timers.arm(this.#timer, turnStartedAt, this.#settings.pingIntervalMs)
  }

  stop(): void {
    this.#timers.remove(this.#timer)
  }

  #onTimeout(): void {
    if (this.#isPingPending) this.#watched.lost()
    else {
      this.#isPingPending = true
      this.#timers.arm(this.#timer, turnStartedAt, this.#settings.pingTimeoutMs)
      this.#watched.sendPing()
    }
  }
}
