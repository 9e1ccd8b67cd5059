/**
 * The exchanges that wait for a connection of a pool (a stream of one, by HTTP/2), and how many each client keeps while
 * few are left. Clients that keep fewer are served first, and within one address so are its connections; when too many
 * wait, the client with most loses its newest.
 *
 * The last sixteenth is for those that keep little, so that clients that take all they get, and read nothing, leave
 * something to the others: an address that keeps as many as are left gets no more. With n such addresses one part in
 * n + 1 stays free (dynamic thresholds, Choudhury and Hahne 1998). Half of that sixteenth is also for connections that
 * keep little: those of others behind the same address.
 */
import { clientKey } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { RoundRobinQueue } from '#engine/kit/round-robin-queue.ts'

/** Exchanges that may wait for a connection while the pool is at its limit. */
const WAITERS_MAX = 1024

interface Waiter {
  readonly ex: Pick<Exchange, 'client'>
}

/** What is kept for an exchange: a connection or a stream, made or being made. */
export interface Holder {
  /** Null: it is kept for nobody. */
  readonly exchange: Pick<Exchange, 'client'> | null
}

/** Of `max` connections, those that are not for everybody. */
export const reserveOf = (max: number): number => max >> 4

export class FairQueue<W extends Waiter> {
  readonly #queue: RoundRobinQueue<W>
  readonly #holders: () => Iterable<Holder>
  /** By address and by connection of clients. Null: nobody has asked lately, and nothing is counted. */
  #kept: Map<string, number> | null = null
  /** Whose each one is: a wire that has died does not tell any more. */
  readonly #owners = new Map<Holder, readonly string[]>()
  #ownersFirst = 0

  /** `holders`: all there are. */
  constructor(holders: () => Iterable<Holder>, max = WAITERS_MAX) {
    this.#holders = holders
    this.#queue = new RoundRobinQueue(max)
  }

  get size(): number {
    return this.#queue.size
  }

  /** In no order of turns. */
  [Symbol.iterator](): Iterator<W> {
    return this.#queue[Symbol.iterator]()
  }

  /** `waiter` stands last of its client. Returns who has to go for it, maybe itself; null: nobody. */
  add(waiter: W): W | null {
    return this.#queue.add(waiter, ownerOf(waiter.ex))
  }

  /** The waiter that gets one of those `left`; undefined: none may have one now. `max`: how many there are. */
  next(left: number, max: number): W | undefined {
    if (this.#queue.size === 0) return undefined
    const kept = this.#count()
    return this.#queue.next(
      (name) => kept.get(name) ?? 0,
      ({ ex }) => this.mayTake(ex, left, max)
    )
  }

  /** Of the clients that wait, how many each keeps, the fewest first. */
  connectionsByWaitingClient(): number[] {
    const kept = this.#count()
    return Array.from(this.#queue.names, (name) => kept.get(name) ?? 0).sort((a, b) => a - b)
  }

  /** Whether it was waiting. */
  remove(waiter: W): boolean {
    return this.#queue.remove(waiter)
  }

  /** Whether one of those `left` is for `ex`. */
  mayTake(ex: Waiter['ex'], left: number, max: number): boolean {
    const reserve = reserveOf(max)
    if (left > reserve) return true
    const kept = this.#count()
    const [address, connection] = ownerOf(ex)
    return (kept.get(address) ?? 0) < left || (kept.get(connection) ?? 0) < left - (reserve >> 1)
  }

  /** `holder` has its exchange. */
  acquired(holder: Holder): void {
    const kept = this.#kept
    if (kept === null || holder.exchange === null || this.#owners.has(holder)) return
    const owner = ownerOf(holder.exchange)
    this.#owners.set(holder, owner)
    for (const name of owner) kept.set(name, (kept.get(name) ?? 0) + 1)
  }

  /** `holder` has it no more. */
  released(holder: Holder): void {
    const kept = this.#kept
    if (kept === null) return
    const owner = this.#owners.get(holder)
    if (owner === undefined) return
    this.#owners.delete(holder)
    if (this.#owners.size * 2 < this.#ownersFirst) {
      // Connections are free again: a request pays nothing for a count that is not needed.
      this.#kept = null
      this.#owners.clear()
      return
    }
    for (const name of owner) {
      const left = kept.get(name)! - 1
      if (left === 0) kept.delete(name)
      else kept.set(name, left)
    }
  }

  /** Once, and from then on each change. */
  #count(): ReadonlyMap<string, number> {
    if (this.#kept !== null) return this.#kept
    this.#kept = new Map()
    for (const holder of this.#holders()) this.acquired(holder)
    this.#ownersFirst = this.#owners.size
    return this.#kept
  }
}

/** The address of a client, and its connection. */
function ownerOf({ client }: Waiter['ex']): readonly [address: string, connection: string] {
  return [clientKey({ client }), `${client.remoteAddress}#${client.remotePort}`]
}
