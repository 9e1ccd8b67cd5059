/** The connections of HTTP/1.1 that an endpoint may have, and the attempts that wait for one. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { Attempt } from '#engine/upstream/attempt.ts'
import type { Dial } from '#engine/upstream/dialler.ts'
import { FairQueue, type Holder, reserveOf } from '#engine/upstream/fair-queue.ts'
import type { Pool } from '#engine/upstream/pool.ts'
import type { UpstreamShared } from '#engine/upstream/shared.ts'
import { SlowClientEviction } from '#engine/upstream/slow-client-eviction.ts'
import type { Http1Upstream } from './connection.ts'

/** Whose connections they are. */
export interface QueueOwner {
  readonly shared: UpstreamShared
  readonly pools: readonly Pool[]
  /** Connections that exist or are being made. */
  readonly total: number
  /** As many as there may be; infinite: others decide about that. */
  readonly connectionsMax: number
}

export class ConnectionQueue {
  readonly #owner: QueueOwner
  readonly #waiting = new FairQueue<Attempt>(() => this.#holders())
  readonly #dials = new Set<Dial<Pool>>()
  #eviction: SlowClientEviction | null = null

  constructor(owner: QueueOwner) {
    this.#owner = owner
  }

  /** Exchanges that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** False: few are left, and those are not for `ex`. */
  mayTake(ex: Exchange): boolean {
    const { total, connectionsMax } = this.#owner
    if (total < connectionsMax - reserveOf(connectionsMax)) return true
    return this.#waiting.mayTake(ex, this.#left, connectionsMax)
  }

  /** What could be had now. */
  get #left(): number {
    const { total, connectionsMax, pools } = this.#owner
    let left = connectionsMax - total
    for (const { idle } of pools) left += idle
    return left
  }

  *#holders(): Generator<Holder> {
    for (const { connections } of this.#owner.pools) yield* connections
    yield* this.#dials
  }

  // --- who has one ---

  acquired(connection: Http1Upstream): void {
    this.#waiting.acquired(connection)
  }

  released(connection: Http1Upstream): void {
    this.#waiting.released(connection)
  }

  dialling(dial: Dial<Pool>): void {
    this.#dials.add(dial)
    this.#waiting.acquired(dial)
  }

  /** `dial` is over, however it ended. */
  dialled(dial: Dial<Pool>): void {
    this.#dials.delete(dial)
    this.#waiting.released(dial)
  }

  // --- who waits for one ---

  /** Returns who has to go for `attempt`, maybe itself; null: nobody. */
  add(attempt: Attempt): Attempt | null {
    const dropped = this.#waiting.add(attempt)
    const { timers, events } = this.#owner.shared
    this.#eviction ??= new SlowClientEviction({
      timers,
      connections: () => this.#owner.pools.flatMap(({ connections }) => [...connections]),
      waiting: () => this.#waiting.size,
      keptByWaiting: () => this.#waiting.connectionsByWaitingClient(),
      giveUp: (ex, code) => events.onServerFault(ex, code),
      now: () => timers.now
    })
    this.#eviction.request()
    return dropped
  }

  /** The attempt that gets the next one, if one of those that wait may have it. */
  next(): Attempt | undefined {
    if (this.#waiting.size === 0) return undefined
    return this.#waiting.next(this.#left, this.#owner.connectionsMax)
  }

  /** Whether it was waiting. */
  remove(attempt: Attempt): boolean {
    return this.#waiting.remove(attempt)
  }
}
