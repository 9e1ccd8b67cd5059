/** Whom a connection of HTTP/1 waits for, and how long: one timer per connection, moved from one wait to the next. */
import type { HttpServer } from '#engine/downstream/http-server.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'

export const WAIT_NOTHING = 0
export const WAIT_REQUEST = 1
export const WAIT_HEAD = 2
export const WAIT_BODY = 3
export const WAIT_CLIENT = 4
/** The body is paused: a wire that does not read hears nothing of its client, not even that it has gone. */
export const WAIT_SERVER = 5
/** The response is out, and the end of the request is not in. */
export const WAIT_REMAINDER = 6

/**
 * How long a draining bind waits for one more request of a kept connection: one may be on its way, and closing would
 * lose it. Its response announces the end.
 */
const LAST_REQUEST_MS = 1_000

/** A client that has its response and still sends has so long for the remainder, however steadily it comes. */
const REMAINDER_MS = 5_000

export class Deadline {
  /** One of WAIT_*. */
  waiting = WAIT_NOTHING
  /** A response has been sent on the connection: what follows it may take its time. */
  hasServed = false
  readonly #server: HttpServer
  readonly #timer: WheelTimer

  /** `onTimeout` gets the phase that has timed out; no timer runs then. */
  constructor(server: HttpServer, onTimeout: (waited: number) => void) {
    this.#server = server
    this.#timer = new WheelTimer(() => {
      const waited = this.waiting
      this.waiting = WAIT_NOTHING
      onTimeout(waited)
    })
  }

  wait(what: number): void {
    this.waiting = what
    const { timers, settings } = this.#server
    if (what === WAIT_NOTHING) timers.disarm(this.#timer)
    else if (what === WAIT_REQUEST)
      timers.arm(this.#timer, turnStartedAt, this.hasServed ? settings.idleTimeoutMs : silentMs(settings))
    else if (what === WAIT_HEAD) timers.arm(this.#timer, turnStartedAt, settings.headTimeoutMs)
    else if (what === WAIT_REMAINDER)
      timers.arm(this.#timer, turnStartedAt, Math.min(REMAINDER_MS, settings.bodyTimeoutMs))
    else if (what === WAIT_BODY) timers.arm(this.#timer, turnStartedAt, settings.bodyTimeoutMs)
    else timers.arm(this.#timer, turnStartedAt, settings.sendTimeoutMs)
  }

  /** The bind drains, and a request may be on the way. */
  waitForLast(): void {
    this.#server.timers.arm(this.#timer, turnStartedAt, LAST_REQUEST_MS)
  }

  /** The connection is over. */
  end(): void {
    this.#server.timers.remove(this.#timer)
  }
}

/** How long a connection may be open without a request: who opens one has something to say, unlike one that is kept. */
function silentMs({ headTimeoutMs, idleTimeoutMs }: FrontendSettings['http']): number {
  return Math.min(headTimeoutMs, idleTimeoutMs)
}
