/**
 * Rows of 32-bit integers that all threads of a process share, found by name. A row belongs to its name while it is
 * used. One that has been unused for ten minutes may go to another name; its holders notice, and look for their row
 * again.
 */
import { createHash } from 'node:crypto'

const ROWS = 8_192
/** Rows in a set. The hash of a name chooses the set in which its row may lie. */
const SET = 32
const ROW_WORDS = 16
// The first words of a row: a hash of its name (64 bits; zero: free), and when it was last used, in seconds.
const TOUCHED = 2
const FIELDS = 3
/** How many numbers a row has. */
export const ROW_FIELDS = ROW_WORDS - FIELDS
const UNUSED_S = 600

export class SharedRows {
  readonly #words: Int32Array
  readonly #keys: BigInt64Array
  readonly #clock: () => number

  /** `clock`: milliseconds, the same in all threads. */
  constructor(memory: SharedArrayBuffer, clock: () => number) {
    this.#words = new Int32Array(memory)
    this.#keys = new BigInt64Array(memory)
    this.#clock = clock
  }

  /** Pages of it that are never written cost no memory. */
  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(ROWS * ROW_WORDS * Int32Array.BYTES_PER_ELEMENT)
  }

  get clock(): () => number {
    return this.#clock
  }

  row(name: string): SharedRow {
    const key = createHash('sha256').update(name).digest().readBigInt64LE()
    return new SharedRow(this.#words, () => this.#find(key === 0n ? 1n : key), this.#clock)
  }

  /** Index of the first word of the row; -1: all rows of its set are in use. */
  #find(key: bigint): number {
    const first = Number(BigInt.asUintN(32, key >> 32n) % BigInt(ROWS / SET)) * SET
    const seconds = Math.floor(this.#clock() / 1000)
    for (let row = first; row < first + SET; row++) {
      const before = Atomics.load(this.#keys, row * (ROW_WORDS / 2))
      if (before === key) return row * ROW_WORDS
      if (before === 0n && this.#take(row, before, key, seconds)) return row * ROW_WORDS
    }
    for (let row = first; row < first + SET; row++) {
      if (seconds - Atomics.load(this.#words, row * ROW_WORDS + TOUCHED) < UNUSED_S) continue
      if (this.#take(row, Atomics.load(this.#keys, row * (ROW_WORDS / 2)), key, seconds)) return row * ROW_WORDS
    }
    return -1
  }

  /** True: it is the row of `key`, perhaps because another thread has just made it so. */
  #take(row: number, before: bigint, key: bigint, seconds: number): boolean {
    const found = Atomics.compareExchange(this.#keys, row * (ROW_WORDS / 2), before, key)
    if (found === key) return true
    if (found !== before) return false
    Atomics.store(this.#words, row * ROW_WORDS + TOUCHED, seconds)
    if (before !== 0n) for (let i = FIELDS; i < ROW_WORDS; i++) Atomics.store(this.#words, row * ROW_WORDS + i, 0)
    return true
  }
}

/** One row. Without room for it its numbers are those of one thread: they hold there, and nobody else knows them. */
export class SharedRow {
  #words: Int32Array
  #at: number
  #low = 0
  readonly #find: () => number
  readonly #clock: () => number
  readonly #shared: Int32Array

  constructor(words: Int32Array, find: () => number, clock: () => number) {
    this.#shared = words
    this.#words = words
    this.#find = find
    this.#clock = clock
    this.#at = 0
    this.#seek()
  }

  #seek(): void {
    const at = this.#find()
    this.#words = at < 0 ? new Int32Array(ROW_WORDS) : this.#shared
    this.#at = Math.max(at, 0)
    this.#low = Atomics.load(this.#words, this.#at)
  }

  /** False: there is no room for it, and nobody else sees its numbers. */
  get isShared(): boolean {
    return this.#words === this.#shared
  }

  /** It is used: nobody else gets it. Called before numbers are changed. */
  touch(): void {
    if (this.#isAnothers) this.#seek()
    Atomics.store(this.#words, this.#at + TOUCHED, Math.floor(this.#clock() / 1000))
  }

  get #isAnothers(): boolean {
    return Atomics.load(this.#words, this.#at) !== this.#low
  }

  /** Looked at by those too who never touch it: what another name has written there would be taken for its numbers. */
  get(field: number): number {
    if (this.#isAnothers) this.#seek()
    return Atomics.load(this.#words, this.#at + FIELDS + field)
  }

  set(field: number, value: number): void {
    Atomics.store(this.#words, this.#at + FIELDS + field, value)
  }

  /** Returns the sum. */
  add(field: number, amount: number): number {
    return Atomics.add(this.#words, this.#at + FIELDS + field, amount) + amount
  }

  /** False: it was not `before` any more. */
  swap(field: number, before: number, after: number): boolean {
    return Atomics.compareExchange(this.#words, this.#at + FIELDS + field, before, after) === before
  }
}
