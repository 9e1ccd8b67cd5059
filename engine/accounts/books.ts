/**
 * What is spent of budgets, in memory that all threads share: exact over workers, without a message per call. A budget
 * has a place for as long as it is known, and a row for each of its periods. Only the main thread gives out places and
 * rows; workers set aside, settle, and never wait for each other. Amounts are nanos.
 *
 * Two words decide: USED, what is spent or set aside, and SHORT. A call is let pass when what it may cost fits. One
 * that
 * does not fit may pass as well, if something is left, with what is left set aside for it: otherwise a budget could
 * not be
 * used up. SHORT says which worker has such a call; there is never a second one, so that a budget is overdrawn by one
 * call
 * at most, however many are under way (docs/design/045-keys-and-money.md).
 */

const LIMIT = 0
const USED = 1
const SPENT = 2
const SHORT = 3
/** Calls that have something set aside. */
const OPEN = 4
/** Of the period, in milliseconds since 1970. */
const START = 5
const END = 6
const ROW_WORDS = 8

/** Each key may have several. */
export const PLACES_MAX = 1 << 17
/** A budget whose period ends has two for as long as calls of the old one are under way. */
const ROWS_MAX = PLACES_MAX + (1 << 15)
const ACCOUNTS_MAX = 1 << 16

export interface BooksMemory {
  readonly rows: SharedArrayBuffer
  /** By place: its row, plus one; 0: it has none. */
  readonly current: SharedArrayBuffer
  /** By account: calls at a time, of all workers and then of each. */
  readonly calls: SharedArrayBuffer
}

/** Pages of it that are never written cost no memory. */
export function createBooks(workers: number): BooksMemory {
  return {
    rows: new SharedArrayBuffer(ROWS_MAX * ROW_WORDS * 8),
    current: new SharedArrayBuffer(PLACES_MAX * 4),
    calls: new SharedArrayBuffer(ACCOUNTS_MAX * (workers + 1) * 4)
  }
}

export interface RowState {
  readonly limit: bigint
  readonly used: bigint
  readonly spent: bigint
  readonly open: number
  readonly start: number
  readonly end: number
}

export class Books {
  readonly #rows: BigInt64Array
  readonly #current: Int32Array
  readonly #calls: Int32Array
  readonly #workers: number

  constructor(memory: BooksMemory) {
    this.#rows = new BigInt64Array(memory.rows)
    this.#current = new Int32Array(memory.current)
    this.#calls = new Int32Array(memory.calls)
    this.#workers = this.#calls.length / ACCOUNTS_MAX - 1
  }

  // --- workers ---

  /** The row of a place; -1: it has none at the moment. */
  rowOf(place: number): number {
    return Atomics.load(this.#current, place) - 1
  }

  /**
   * Sets `bound` aside, or what is left where it is the one call that may take less. The amount that was set aside,
   * or -1n:
   * refused. `worker`: from 0 on.
   */
  reserve(row: number, bound: bigint, worker: number): bigint {
    const at = row * ROW_WORDS
    const rows = this.#rows
    let isShort = false
    for (;;) {
      const used = Atomics.load(rows, at + USED)
      const left = Atomics.load(rows, at + LIMIT) - used
      const isTooMuch = left < bound
      if (isTooMuch && !isShort) {
        if (left <= 0n || !this.#claimShort(at, worker)) return -1n
        isShort = true
      }
      // What others gave back meanwhile may be enough, and what they took may leave nothing.
      if (left <= 0n) {
        this.#endShort(at, worker)
        return -1n
      }
      const taken = isTooMuch ? left : bound
      if (Atomics.compareExchange(rows, at + USED, used, used + taken) !== used) continue
      Atomics.add(rows, at + OPEN, 1n)
      if (isShort && !isTooMuch) this.#endShort(at, worker)
      return taken
    }
  }

  #claimShort(at: number, worker: number): boolean {
    return Atomics.compareExchange(this.#rows, at + SHORT, 0n, BigInt(worker) + 1n) === 0n
  }

  #endShort(at: number, worker: number): void {
    Atomics.compareExchange(this.#rows, at + SHORT, BigInt(worker) + 1n, 0n)
  }

  /** Ends what `reserve` began with `taken`, for a call that has cost `cost`. `bound`: as reserve got it. */
  settle(row: number, taken: bigint, bound: bigint, cost: bigint, worker: number): void {
    const at = row * ROW_WORDS
    // Spent first: a reader of both sees too much, never too little.
    Atomics.add(this.#rows, at + SPENT, cost)
    Atomics.add(this.#rows, at + USED, cost - taken)
    if (taken < bound) this.#endShort(at, worker)
    Atomics.sub(this.#rows, at + OPEN, 1n)
  }

  /** Changes what is spent without a reservation: a later figure, or what nobody knew ahead. */
  correct(row: number, difference: bigint): void {
    const at = row * ROW_WORDS
    Atomics.add(this.#rows, at + SPENT, difference)
    Atomics.add(this.#rows, at + USED, difference)
  }

  /** Begin of its period. */
  startOf(row: number): number {
    return Number(Atomics.load(this.#rows, row * ROW_WORDS + START))
  }

  state(row: number): RowState {
    const load = (word: number) => Atomics.load(this.#rows, row * ROW_WORDS + word)
    const [limit, used, spent] = [load(LIMIT), load(USED), load(SPENT)]
    return { limit, used, spent, open: Number(load(OPEN)), start: Number(load(START)), end: Number(load(END)) }
  }

  /** False: `max` are under way already. */
  begin(account: number, max: number, worker: number): boolean {
    const at = account * (this.#workers + 1)
    if (Atomics.add(this.#calls, at, 1) >= max) {
      Atomics.sub(this.#calls, at, 1)
      return false
    }
    Atomics.add(this.#calls, at + 1 + worker, 1)
    return true
  }

  end(account: number, worker: number): void {
    const at = account * (this.#workers + 1)
    Atomics.sub(this.#calls, at + 1 + worker, 1)
    Atomics.sub(this.#calls, at, 1)
  }

  calls(account: number): number {
    return Atomics.load(this.#calls, account * (this.#workers + 1))
  }

  // --- the main thread ---

  /** A row that no place leads to. */
  prepare(row: number, { limit, spent, start, end }: Omit<RowState, 'used' | 'open'>): void {
    const at = row * ROW_WORDS
    const values = [limit, spent, spent, 0n, 0n, BigInt(start), BigInt(end)]
    for (const [word, value] of values.entries()) Atomics.store(this.#rows, at + word, value)
  }

  setLimit(row: number, limit: bigint): void {
    Atomics.store(this.#rows, row * ROW_WORDS + LIMIT, limit)
  }

  /** From now on calls find `row` at `place`; -1: none. */
  open(place: number, row: number): void {
    Atomics.store(this.#current, place, row + 1)
  }

  /**
   * A worker has died: what it set aside stays, since nobody knows what its calls have cost; what it claimed is free.
   */
  release(worker: number, rows: number, accounts: number): void {
    for (let row = 0; row < rows; row++) this.#endShort(row * ROW_WORDS, worker)
    for (let account = 0; account < accounts; account++) {
      const at = account * (this.#workers + 1)
      const own = Atomics.exchange(this.#calls, at + 1 + worker, 0)
      Atomics.sub(this.#calls, at, own)
    }
  }
}

/** Numbers that are given out one by one, and again when they were given back long enough ago. */
export class Numbers {
  readonly #max: number
  readonly #restMs: number
  readonly #resting: { readonly number: number; readonly until: number }[] = []
  #next = 0

  /** `restMs`: how long one is not given out again, for threads that still have it in their hands. */
  constructor(max: number, restMs: number) {
    this.#max = max
    this.#restMs = restMs
  }

  /** How many there have been. */
  get used(): number {
    return this.#next
  }

  /** -1: there is none left. */
  take(now: number): number {
    const [oldest] = this.#resting
    if (oldest !== undefined && oldest.until <= now) return this.#resting.shift()!.number
    return this.#next < this.#max ? this.#next++ : -1
  }

  giveBack(number: number, now: number): void {
    this.#resting.push({ number, until: now + this.#restMs })
  }
}

/** A worker that does not turn its event loop is ended after a minute. */
const REST_MS = 120_000

export const rowNumbers = (): Numbers => new Numbers(ROWS_MAX, REST_MS)
export const placeNumbers = (): Numbers => new Numbers(PLACES_MAX, REST_MS)
export const accountNumbers = (): Numbers => new Numbers(ACCOUNTS_MAX, REST_MS)
