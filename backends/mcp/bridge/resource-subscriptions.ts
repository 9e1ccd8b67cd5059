/**
 * Resources of one session with a server that some of its holders follow. Each is subscribed to once, by the first, and
 * whoever comes before the answer hears the same one; the last one leaves it. Nothing is asked about a resource while
 * an answer about it is out: over HTTP the server may see the second question first.
 */

/** Asks the server. `done`: whether it has agreed. */
type Ask = (done: (agreed: boolean) => void) => void

interface Followed {
  followers: number
  /** An answer is out. */
  isAsking: boolean
  isAgreed: boolean
  /** Those that have not been told yet. */
  waiting: { readonly subscribe: Ask; readonly then: (agreed: boolean) => void }[]
  /** Of the last one that has left. */
  unsubscribe: Ask
}

export class Following {
  readonly #all = new Map<string, Followed>()

  /** `then`: with what the server says; who is told false does not follow. */
  follow(uri: string, subscribe: Ask, then: (agreed: boolean) => void): void {
    let followed = this.#all.get(uri)
    if (followed === undefined) {
      followed = { followers: 0, isAsking: false, isAgreed: false, waiting: [], unsubscribe: (done) => done(true) }
      this.#all.set(uri, followed)
    }
    followed.followers++
    if (followed.isAgreed && !followed.isAsking) {
      then(true)
      return
    }
    followed.waiting.push({ subscribe, then })
    this.#settle(uri, followed)
  }

  /** Once for each that has followed, unless it was told false. */
  unfollow(uri: string, unsubscribe: Ask): void {
    const followed = this.#all.get(uri)
    if (followed === undefined) return
    followed.followers--
    followed.unsubscribe = unsubscribe
    this.#settle(uri, followed)
  }

  /** Asks for what is wanted and is not so; one question at a time. */
  #settle(uri: string, followed: Followed): void {
    if (followed.isAsking) return
    if (followed.followers === 0) {
      if (followed.isAgreed) this.#leave(uri, followed)
      else this.#all.delete(uri)
    } else if (!followed.isAgreed) this.#ask(uri, followed)
  }

  #ask(uri: string, followed: Followed): void {
    followed.isAsking = true
    followed.waiting[0]!.subscribe((agreed) => {
      followed.isAsking = false
      followed.isAgreed = agreed
      const told = followed.waiting.splice(0)
      if (!agreed) followed.followers = 0
      this.#settle(uri, followed)
      for (const { then } of told) then(agreed)
    })
  }

  #leave(uri: string, followed: Followed): void {
    followed.isAsking = true
    followed.unsubscribe(() => {
      followed.isAsking = false
      // What the server keeps sending after an error, nobody listens to.
      followed.isAgreed = false
      this.#settle(uri, followed)
    })
  }
}
