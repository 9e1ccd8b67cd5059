/**
 * What configurations share by a key, such as a token of an account: it survives a reload while the next configuration
 * uses it too, and ends with the last one that does.
 */
import type { Background } from './background.ts'

/** It fetches something when it is asked. */
export interface Fetcher {
  /**
   * No configuration in force uses it: a fetch is given up. One that requests wait for goes on, since they are served
   * by the configuration that they began with.
   */
  abandon(): void
}

interface Entry<T> {
  /** A configuration that is never put in force (its port is taken) leaves nothing. */
  readonly made: WeakRef<Fetcher & T>
  /** Null: no configuration in force uses it. */
  used: (Fetcher & T) | null
  uses: number
}

/** Of one thread. */
export class SharedInForce<T extends object> {
  readonly #entries = new Map<string, Entry<T>>()
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#entries.get(key)?.made.deref() === undefined) this.#entries.delete(key)
  })

  get size(): number {
    return this.#entries.size
  }

  /** To be called at build time. What is known by `key`, else what `make` returns; kept while `use` goes on. */
  share<U extends T>(key: string, make: () => Fetcher & U): { readonly value: Fetcher & U; readonly use: Background } {
    const known = this.#entries.get(key)
    // A key has one owner: the type is that of its `make`.
    const shared = known?.made.deref() as (Fetcher & U) | undefined
    if (known !== undefined && shared !== undefined) return { value: shared, use: this.#use(key, known, shared) }
    const value = make()
    const entry: Entry<T> = { made: new WeakRef(value), used: null, uses: 0 }
    this.#entries.set(key, entry)
    this.#collected.register(value, key)
    return { value, use: this.#use(key, entry, value) }
  }

  #use(key: string, entry: Entry<T>, value: Fetcher & T): Background {
    return {
      begin: () => {
        entry.uses++
        entry.used = value
      },
      end: () => {
        if (--entry.uses > 0) return
        entry.used = null
        this.#entries.delete(key)
        value.abandon()
      }
    }
  }
}
