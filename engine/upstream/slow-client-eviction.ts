/**
 * Clients that do not read what they have asked for, or do not send what they have announced, keep connections to
 * backends: thirty of them with a hundred streams each could keep all that there are. As long as nobody else wants
 * one that is their own affair; when others wait, those that have kept one for longest without using it give it up.
 */
import { clientKey } from '#engine/contract/client-key.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Holder } from './fair-queue.ts'

/** A client may keep others waiting for so long: a lost packet is sent again within a second. */
const IDLE_MS = 2_000
/** So long where its client keeps more than twice as many as one that waits. */
const GREEDY_IDLE_MS = 500
/** How often such clients are looked for while others wait: a look costs some microseconds per hundred. */
const LOOK_EVERY_MS = 250

/** A connection as far as it waits for a client. */
export interface EvictionCandidate extends Holder {
  /** Since when its client has done nothing for it (performance.now()); 0: it waits for no client. */
  readonly idleSince: number
  readonly exchange: Exchange | null
}

export interface EvictionOptions {
  readonly timers: TimerWheel
  /** All connections there are. */
  readonly connections: () => Iterable<EvictionCandidate>
  /** How many wait for one. */
  readonly waiting: () => number
  /** Of the clients among those, how many each keeps, the fewest first. */
  readonly keptByWaiting: () => readonly number[]
  readonly giveUp: (ex: Exchange, code: ErrorCode) => void
  /** performance.now() */
  readonly now: () => number
}

export class SlowClientEviction {
  readonly #parts: EvictionOptions
  readonly #timer: WheelTimer
  #isLooking = false

  constructor(parts: EvictionOptions) {
    this.#parts = parts
    this.#timer = new WheelTimer(() => {
      this.#isLooking = false
      if (parts.waiting() > 0) this.request()
    })
  }

  /** Somebody waits for a connection. */
  request(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    const { timers, now } = this.#parts
    timers.arm(this.#timer, now(), LOOK_EVERY_MS)
    this.#look(now())
  }

  #look(now: number): void {
    const { connections, waiting, keptByWaiting, giveUp } = this.#parts
    const counts = new Map<string, number>()
    const found: { ex: Exchange; since: number; client: string }[] = []
    for (const { idleSince, exchange } of connections()) {
      if (exchange === null || idleSince === 0) continue
      const client = clientKey(exchange)
      counts.set(client, (counts.get(client) ?? 0) + 1)
      if (idleSince <= now - GREEDY_IDLE_MS) found.push({ ex: exchange, since: idleSince, client })
    }
    // The client that keeps most gives first, for the one that keeps least.
    found.sort((a, b) => counts.get(b.client)! - counts.get(a.client)! || a.since - b.since)
    const kept = keptByWaiting()
    const most = waiting()
    let granted = 0
    for (const { ex, since, client } of found) {
      if (granted === most) return
      const isGreedy = granted < kept.length && counts.get(client)! >= 2 * (kept[granted]! + 1)
      if (!isGreedy && since > now - IDLE_MS) continue
      granted++
      giveUp(ex, 'CLIENT_TOO_SLOW')
    }
  }
}
