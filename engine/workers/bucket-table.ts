/**
 * The token buckets of the whole process: one table in shared memory, exact over all threads
 * (docs/design/010-rate-limit.md). A bucket that exists is changed by one atomic operation
 * (bucket-cells.ts); only to make one a thread takes a lock, which the main thread opens when its owner dies.
 *
 * | bytes | |
 * |---|---|
 * | 0..63 | lock, key of the hash, counters |
 * | 8 per bucket | the hash of its limit and caller; zero: never used |
 * | 64 per bucket | a row: state, start of the first period, period, rate, capacity, limit |
 *
 * Buckets of callers come first, then, apart, one for each limit that all its other callers share.
 */
import { randomFillSync } from 'node:crypto'
import { type SharedMemory, sharedMemory } from '#engine/http/webassembly.ts'
import { monotonicClock } from '#engine/kit/monotonic.ts'
import { SipHash } from '#engine/kit/siphash.ts'
import { type BucketCells, bucketCells, PERIODS } from './bucket-cells.ts'

/** For callers: 65,536 of one limit find a place, nearly all. 10 MB; what is not used costs no memory. */
const BUCKETS = 131_072
/** Places where a bucket may lie: the set that its hash chooses. */
const SET = 32
/** Of those, callers of one limit get no more, so that endless callers of one leave room for the others. */
const OWN_MAX = 24
/** A bucket may be forgotten for another caller of its limit if no more than this share of it was used. */
const FORGOTTEN_MAX = 1 / 8

// The head, in words of 32 bits.
const LOCK = 0
const SIZE = 1
const SEED = 2
const COUNTERS = 8
const UNKNOWN = COUNTERS
const CROWDED = COUNTERS + 1
const FORGOTTEN = COUNTERS + 2
const HEAD_BYTES = 64

// A row, in words of 32 bits and of 64.
const ROW_BYTES = 64
const STATE_LOW = 0
const STATE_HIGH = 1
const RATE = 6
const CAPACITY = 7
const LIMIT = 8
const ANCHOR = 1
const UNIT = 2

/** Stands for a level while a bucket gets another owner. */
const CLAIMED = -2_147_483_648
const GENERATIONS = 255
/**
 * Spins before sleeping, and sleeps of 1 ms (or until it is opened) before giving up. The lock is held for a
 * microsecond or two: longer waits mean that its holder has no processor, or has died and its end is not known yet.
 */
const LOCK_SPINS = 200
const LOCK_SLEEPS = 50

/** Instead of a bucket: every place where it could lie is in use; the lock was not to be had. */
export const NO_ROOM = -1
export const NO_LOCK = -2
/** How often another place is looked for when the chosen bucket is used meanwhile. */
const TRIES = 8

/** What happened that an operator should know; since the start of the process, modulo 2^32. */
export interface BucketCounts {
  /** Requests whose caller is unknown. */
  readonly unknown: number
  /** New callers that had to share a bucket, because the table is full of buckets in use. */
  readonly crowded: number
  /** Buckets that were given to another caller before they were full again. */
  readonly forgotten: number
}

export interface TableOptions {
  /** Of this thread: its number in the lock, from 0 on. */
  readonly owner: number
  /** Milliseconds; the same in all threads. */
  readonly clock?: () => number
}

export class BucketTable {
  readonly cells: BucketCells
  readonly words: Int32Array
  readonly #doubles: Float64Array
  readonly #keys: Int32Array
  readonly #buckets: number
  readonly #rowsAt: number
  readonly #owner: number
  readonly clock: () => number
  readonly sip: SipHash

  /** Shared memory for the buckets of `buckets` callers, a power of two from 32 on, with a hash key of its own. */
  static create(buckets = BUCKETS): SharedMemory {
    const memory = sharedMemory(HEAD_BYTES + (buckets + sharedFor(buckets)) * (8 + ROW_BYTES))
    const words = new Int32Array(memory.buffer)
    words[SIZE] = buckets
    const seed = randomFillSync(new Int32Array(4))
    words.set(seed, SEED)
    return memory
  }

  constructor(memory: SharedMemory, options: TableOptions) {
    this.words = new Int32Array(memory.buffer)
    this.#doubles = new Float64Array(memory.buffer)
    this.#buckets = this.words[SIZE]!
    const all = this.#buckets + sharedFor(this.#buckets)
    this.#keys = new Int32Array(memory.buffer, HEAD_BYTES, all * 2)
    this.#rowsAt = HEAD_BYTES + all * 8
    this.#owner = options.owner + 1
    this.clock = options.clock ?? monotonicClock()
    this.sip = new SipHash(this.words.slice(SEED, SEED + 4))
    this.cells = bucketCells(memory)
  }

  get counts(): BucketCounts {
    const read = (word: number): number => Atomics.load(this.words, word) >>> 0
    return { unknown: read(UNKNOWN), crowded: read(CROWDED), forgotten: read(FORGOTTEN) }
  }

  countUnknown(): void {
    Atomics.add(this.words, UNKNOWN, 1)
  }

  countCrowded(): void {
    Atomics.add(this.words, CROWDED, 1)
  }

  // --- one bucket; `slot` is its place in the table ---

  /** Byte address of its state. */
  address(slot: number): number {
    return this.#rowsAt + slot * ROW_BYTES
  }

  /** Periods since its first use, and when those began, in milliseconds of the clock. */
  period(slot: number, now: number): number {
    const at = this.address(slot) >> 3
    return Math.floor((now - this.#doubles[at + ANCHOR]!) / this.#doubles[at + UNIT]!)
  }

  startOf(slot: number, period: number): number {
    const at = this.address(slot) >> 3
    return this.#doubles[at + ANCHOR]! + period * this.#doubles[at + UNIT]!
  }

  /** The bucket with this key: slot and generation in one number (slot * 256 + generation), or -1. Takes no lock. */
  find(low: number, high: number, isShared: boolean): number {
    const keys = this.#keys
    const first = this.#setOf(high, isShared)
    for (let slot = first; slot < first + SET; slot++) {
      const keyLow = keys[slot * 2]!
      const keyHigh = keys[slot * 2 + 1]!
      if (keyLow === low && keyHigh === high) {
        const row = this.address(slot) >> 2
        const generation = Atomics.load(this.words, row + STATE_HIGH) >>> 24
        const isLive = Atomics.load(this.words, row + STATE_LOW) !== CLAIMED
        // The key is read again behind the generation: if it holds, it holds as long as that generation does.
        if (isLive && keys[slot * 2] === low && keys[slot * 2 + 1] === high) return slot * 256 + generation
      } else if (keyLow === 0 && keyHigh === 0) return -1
    }
    return -1
  }

  /** First place of the set in which a key lies. */
  #setOf(high: number, isShared: boolean): number {
    const all = isShared ? sharedFor(this.#buckets) : this.#buckets
    return (isShared ? this.#buckets : 0) + ((high >>> 0) % (all / SET)) * SET
  }

  /** The bucket with this key, made if there is none; or NO_ROOM, or NO_LOCK. */
  findOrMake(low: number, high: number, newcomer: Newcomer): number {
    const found = this.find(low, high, newcomer.isShared)
    if (found >= 0) return found
    if (!this.#lock()) return NO_LOCK
    try {
      const again = this.find(low, high, newcomer.isShared)
      return again >= 0 ? again : this.#make(low, high, newcomer)
    } finally {
      Atomics.store(this.words, LOCK, 0)
      Atomics.notify(this.words, LOCK)
    }
  }

  // --- making one, under the lock ---

  #make(low: number, high: number, newcomer: Newcomer): number {
    const now = this.clock()
    for (let i = 0; i < TRIES; i++) {
      const slot = this.#place(high, newcomer, now)
      if (slot < 0) return NO_ROOM
      const generation = this.#claim(slot, newcomer, now)
      if (generation === 0) continue
      this.#keys[slot * 2] = low
      this.#keys[slot * 2 + 1] = high
      const row = this.address(slot)
      this.words[(row >> 2) + RATE] = newcomer.amount
      this.words[(row >> 2) + CAPACITY] = newcomer.capacity
      this.words[(row >> 2) + LIMIT] = newcomer.tagLow
      this.#doubles[(row >> 3) + ANCHOR] = now
      this.#doubles[(row >> 3) + UNIT] = newcomer.unitMs
      this.cells.swap(row, generation << 24, CLAIMED, generation << 24, newcomer.capacity)
      return slot * 256 + generation
    }
    return NO_ROOM
  }

  /** Where a new bucket may lie; -1: nowhere. */
  #place(high: number, newcomer: Newcomer, now: number): number {
    const first = this.#setOf(high, newcomer.isShared)
    let free = -1
    let freeRank = Infinity
    let least = -1
    let leastRank = Infinity
    let own = 0
    for (let slot = first; slot < first + SET; slot++) {
      const used = this.#used(slot, now)
      const rank = this.#rank(slot, used, newcomer, now)
      if (used <= 0 && rank < freeRank) {
        free = slot
        freeRank = rank
      }
      // Sets are filled from their start: what follows was never used either.
      if (this.#keys[slot * 2] === 0 && this.#keys[slot * 2 + 1] === 0) break
      const isOwn = this.#isOwn(slot, newcomer)
      if (isOwn && used > 0) own++
      if (rank >= leastRank || !(isOwn || newcomer.isShared)) continue
      leastRank = rank
      least = slot
    }
    return free >= 0 && (own < OWN_MAX || newcomer.isShared) ? free : least
  }

  /** Since the period in which its level was last changed, or since it was made; less than 2^24 periods. */
  #idleMs(slot: number, now: number): number {
    const at = this.address(slot)
    const last = this.words[(at >> 2) + STATE_HIGH]! & (PERIODS - 1)
    const period = this.period(slot, now)
    return Math.max(0, now - this.startOf(slot, period - ((period - last) & (PERIODS - 1))))
  }

  /** The share of its capacity that a bucket has lost, and that would be forgotten with it. -1: it is not in use. */
  #used(slot: number, now: number): number {
    const row = this.address(slot) >> 2
    const generation = this.words[row + STATE_HIGH]! >>> 24
    // Never used, or left half made by a thread that died: other threads make no buckets while the lock is held.
    if (generation === 0 || this.words[row + STATE_LOW] === CLAIMED) return -1
    const capacity = this.words[row + CAPACITY]!
    const period = this.period(slot, now) % PERIODS
    const level = this.cells.peek(this.address(slot), generation, period, this.words[row + RATE]!, capacity)
    return (capacity - level) / capacity
  }

  /**
   * What it costs to give the bucket to `newcomer`: infinite if it must stay, more than 0 if tokens are forgotten. One
   * that is full loses the start of its periods only, and the longer it has been idle the fewer expect it.
   */
  #rank(slot: number, used: number, newcomer: Newcomer, now: number): number {
    if (used < 0) return -Infinity
    if (used === 0) return -this.#idleMs(slot, now)
    // What a limit's callers share must exist, if need be in the place of what another limit's share.
    return newcomer.isShared || (this.#isOwn(slot, newcomer) && used <= FORGOTTEN_MAX) ? used : Infinity
  }

  #isOwn(slot: number, { tagLow }: Newcomer): boolean {
    return this.words[(this.address(slot) >> 2) + LIMIT] === tagLow
  }

  /** Takes the bucket from its owner: the next generation, or 0 if it was used meanwhile. */
  #claim(slot: number, newcomer: Newcomer, now: number): number {
    const row = this.address(slot) >> 2
    const high = Atomics.load(this.words, row + STATE_HIGH)
    const low = Atomics.load(this.words, row + STATE_LOW)
    // Looked at behind the word: if that is still the same when it is exchanged, this was true of it.
    const used = this.#used(slot, now)
    if (this.#rank(slot, used, newcomer, now) === Infinity) return 0
    const generation = ((high >>> 24) % GENERATIONS) + 1
    if (this.cells.swap(row << 2, high, low, generation << 24, CLAIMED) === 0) return 0
    if (used > 0) Atomics.add(this.words, FORGOTTEN, 1)
    return generation
  }

  #lock(): boolean {
    for (let i = 0; i < LOCK_SPINS + LOCK_SLEEPS; i++) {
      const holder = Atomics.compareExchange(this.words, LOCK, 0, this.#owner)
      if (holder === 0) return true
      if (i >= LOCK_SPINS) Atomics.wait(this.words, LOCK, holder, 1)
    }
    return false
  }

  /** Opens the lock if a thread that is dead now held it. For the main thread, when it has seen the thread's end. */
  release(owner: number): void {
    if (Atomics.compareExchange(this.words, LOCK, owner + 1, 0) === owner + 1) Atomics.notify(this.words, LOCK)
  }
}

/** Places for the buckets that limits share; there are fewer limits than callers. */
function sharedFor(buckets: number): number {
  return Math.max(SET, buckets >> 5)
}

/** What the table notes about a bucket. */
export interface Newcomer {
  readonly amount: number
  readonly capacity: number
  readonly unitMs: number
  readonly tagLow: number
  /** It serves all callers of its limit that have none of their own. */
  readonly isShared: boolean
}
