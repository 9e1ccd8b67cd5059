/**
 * The endpoints of one worker, by destination and options: their state survives a reload. What configurations in force
 * have is kept. What none has any more is forgotten with time, and what clients have named when it is too much.
 */
import type { Background } from '#engine/contract/background.ts'

/** Endpoints kept that no configuration in force has; dynamic proxies name new ones all the time. */
const OTHERS_MAX = 8_192
/** A configuration that comes back within it finds health and names as they were. Each endpoint is some 3 KB. */
const FORGET_AFTER_MS = 5_000

interface Counted {
  /** Connections that exist or are being made. */
  readonly total: number
}

interface Known<E> {
  readonly endpoint: E
  /** Configurations in force that have it, each as often as it has it. */
  uses: number
  /** Since when none has it, in milliseconds of the clock; null: clients have named it. */
  unusedSince: number | null
}

export class KnownEndpoints<E extends Counted> {
  readonly #clock: () => number
  readonly #inForce = new Map<string, Known<E>>()
  readonly #others = new Map<string, Known<E>>()

  /** `clock`: milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  get size(): number {
    return this.#inForce.size + this.#others.size
  }

  get(key: string): E | undefined {
    return (this.#inForce.get(key) ?? this.#others.get(key))?.endpoint
  }

  /** Those in force first. */
  *values(): Generator<E> {
    for (const { endpoint } of this.#inForce.values()) yield endpoint
    for (const { endpoint } of this.#others.values()) yield endpoint
  }

  /** One that a client has named. */
  addNamed(key: string, endpoint: E): void {
    this.#add(key, { endpoint, uses: 0, unusedSince: null })
  }

  /** One of a configuration, which is in force between the `begin` and the `end` of what is returned. */
  addConfigured(key: string, endpoint: E): Background {
    const known: Known<E> = { endpoint, uses: 0, unusedSince: this.#clock() }
    this.#add(key, known)
    return { begin: () => this.#begin(key, known), end: () => this.#end(key, known) }
  }

  #add(key: string, known: Known<E>): void {
    if (this.#others.size >= OTHERS_MAX) this.#forget(() => true)
    this.#others.set(key, known)
  }

  #begin(key: string, known: Known<E>): void {
    if (known.uses++ > 0) return
    if (this.#others.get(key) === known) this.#others.delete(key)
    this.#inForce.set(key, known)
  }

  #end(key: string, known: Known<E>): void {
    if (known.uses === 0 || --known.uses > 0) return
    if (this.#inForce.get(key) === known) this.#inForce.delete(key)
    known.unusedSince = this.#clock()
    this.#others.set(key, known)
  }

  /** Forgets what no configuration has had for some time. An endpoint with a connection stays. */
  look(): void {
    const since = this.#clock() - FORGET_AFTER_MS
    this.#forget(({ unusedSince }) => unusedSince !== null && unusedSince <= since)
  }

  #forget(isOld: (known: Known<E>) => boolean): void {
    for (const [key, known] of this.#others) {
      if (known.endpoint.total === 0 && isOld(known)) this.#others.delete(key)
    }
  }
}
