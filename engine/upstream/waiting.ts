/**
 * Who waits for a connection, client by client: each gets its turn, however many requests another one has, and when
 * there are too many the newest one of the client that has most is turned away. Those of one client keep their order.
 */
import { clientOf } from '#engine/contract/client-of.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** Exchanges that may wait for a connection while the pool is at its limit. */
const WAITERS_MAX = 1024

interface Waiter {
  readonly ex: Pick<Exchange, 'client'>
}

export class Waiting<W extends Waiter> {
  readonly #max: number
  /** In the order of their turns. */
  readonly #clients = new Map<string, W[]>()
  /** Whose each one is: a wire that has died does not tell any more. */
  readonly #owners = new Map<W, string>()

  constructor(max = WAITERS_MAX) {
    this.#max = max
  }

  get size(): number {
    return this.#owners.size
  }

  /** In no order of turns. */
  [Symbol.iterator](): Iterator<W> {
    return this.#owners.keys()
  }

  /** `waiter` stands last of its client. Returns who has to go for it, maybe itself; null: nobody. */
  add(waiter: W): W | null {
    const client = clientOf(waiter.ex)
    const queue = this.#clients.get(client)
    if (queue === undefined) this.#clients.set(client, [waiter])
    else queue.push(waiter)
    this.#owners.set(waiter, client)
    return this.size > this.#max ? this.#dropOne() : null
  }

  #dropOne(): W {
    let longest: W[] = []
    for (const queue of this.#clients.values()) if (queue.length > longest.length) longest = queue
    const dropped = longest.at(-1)!
    this.remove(dropped)
    return dropped
  }

  /** The one whose turn it is; its client stands last then. */
  next(): W | undefined {
    for (const [client, queue] of this.#clients) {
      const waiter = queue.shift()!
      this.#clients.delete(client)
      if (queue.length > 0) this.#clients.set(client, queue)
      this.#owners.delete(waiter)
      return waiter
    }
    return undefined
  }

  /** Whether it was waiting. */
  remove(waiter: W): boolean {
    const client = this.#owners.get(waiter)
    if (client === undefined) return false
    this.#owners.delete(waiter)
    const queue = this.#clients.get(client)!
    queue.splice(queue.lastIndexOf(waiter), 1)
    if (queue.length === 0) this.#clients.delete(client)
    return true
  }
}
