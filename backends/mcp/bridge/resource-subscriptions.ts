/**
 * Resource subscriptions of one session with a server, shared by the subscriptions of its client. The first subscriber
 * of a resource subscribes at the server, and others that come before the response share it; the last one unsubscribes.
 * A resource has one request under way at a time: over HTTP the server may otherwise see the second one first.
 */

/** Sends the request to the server. `done`: whether it has agreed. */
type Ask = (done: (agreed: boolean) => void) => void

interface SharedSubscription {
  subscribers: number
  /** A request is under way. */
  isAsking: boolean
  isAgreed: boolean
  /** Subscribers that wait for the response. */
  waiting: { readonly subscribe: Ask; readonly then: (agreed: boolean) => void }[]
  /** Of the subscriber that left last. */
  unsubscribe: Ask
}

export class ResourceSubscriptions {
  readonly #all = new Map<string, SharedSubscription>()

  /** `then`: whether the server has agreed; if not, there is no subscription. */
  subscribe(uri: string, subscribe: Ask, then: (agreed: boolean) => void): void {
    let shared = this.#all.get(uri)
    if (shared === undefined) {
      shared = { subscribers: 0, isAsking: false, isAgreed: false, waiting: [], unsubscribe: (done) => done(true) }
      this.#all.set(uri, shared)
    }
    shared.subscribers++
    if (shared.isAgreed && !shared.isAsking) {
      then(true)
      return
    }
    shared.waiting.push({ subscribe, then })
    this.#settle(uri, shared)
  }

  /** Once for each subscriber, unless the server had refused it. */
  unsubscribe(uri: string, unsubscribe: Ask): void {
    const shared = this.#all.get(uri)
    if (shared === undefined) return
    shared.subscribers--
    shared.unsubscribe = unsubscribe
    this.#settle(uri, shared)
  }

  /** Sends the request that is due, if none is under way. */
  #settle(uri: string, shared: SharedSubscription): void {
    if (shared.isAsking) return
    if (shared.subscribers === 0) {
      if (shared.isAgreed) this.#leave(uri, shared)
      else this.#all.delete(uri)
    } else if (!shared.isAgreed) this.#ask(uri, shared)
  }

  #ask(uri: string, shared: SharedSubscription): void {
    shared.isAsking = true
    shared.waiting[0]!.subscribe((agreed) => {
      shared.isAsking = false
      shared.isAgreed = agreed
      const waiting = shared.waiting.splice(0)
      if (!agreed) shared.subscribers = 0
      this.#settle(uri, shared)
      for (const { then } of waiting) then(agreed)
    })
  }

  #leave(uri: string, shared: SharedSubscription): void {
    shared.isAsking = true
    shared.unsubscribe(() => {
      shared.isAsking = false
      // After an error the server may go on sending: it is ignored.
      shared.isAgreed = false
      this.#settle(uri, shared)
    })
  }
}
