/** Rate limits over the table of buckets: what engine/contract/buckets.ts promises to policies. */
import type { Buckets, Limit, LimitSpec } from '#engine/contract/buckets.ts'
import { MOVED, PERIODS, REFUSED } from './bucket-cells.ts'
import { type BucketTable, type Newcomer, NO_ROOM } from './bucket-table.ts'

/** How often a call looks its bucket up again when it goes to another caller meanwhile. */
const TRIES = 8
/** For a refusal that no bucket has decided. */
const NO_BUCKET_WAIT_MS = 1_000

export function bucketsOf(table: BucketTable): Buckets {
  return { limit: (spec) => new SharedLimit(table, spec) }
}

/** The same buckets, of which nothing is taken: `take` says what it would have said. No bucket is made. */
export function lookingBuckets(table: BucketTable): Buckets {
  return {
    limit: (spec) => {
      const limit = new SharedLimit(table, spec)
      return {
        capacity: limit.capacity,
        bucket: -1,
        get waitMs() {
          return limit.waitMs
        },
        take: (caller, need, amount) => limit.look(caller, need, amount),
        giveBack() {},
        charge() {}
      }
    }
  }
}

class SharedLimit implements Limit {
  readonly capacity: number
  bucket = -1
  waitMs = 0
  readonly #table: BucketTable
  readonly #amount: number
  readonly #tagLow: number
  readonly #tagHigh: number
  readonly #isKeyed: boolean
  readonly #own: Newcomer
  readonly #all: Newcomer
  /** The bucket of all callers without one of their own, once it has been looked up. */
  #shared = -1

  constructor(table: BucketTable, { id, amount, burst, unitMs, isKeyed }: LimitSpec) {
    this.#table = table
    this.#amount = amount
    this.capacity = amount + burst
    this.#isKeyed = isKeyed
    table.sip.hash(JSON.stringify([id, amount, burst, unitMs, isKeyed]), 0, 0)
    this.#tagLow = table.sip.lo
    this.#tagHigh = table.sip.hi
    const row = { amount, capacity: this.capacity, unitMs, tagLow: this.#tagLow }
    this.#own = { ...row, isShared: false }
    this.#all = { ...row, isShared: true }
  }

  take(caller: string | null, need: number, amount: number): number {
    const { cells, clock } = this.#table
    if (caller === null && this.#isKeyed) this.#table.countUnknown()
    for (let i = 0; i < TRIES; i++) {
      const bucket = this.#find(caller)
      if (bucket < 0) break
      // Read behind the making of a bucket: its first period has begun by then.
      const now = clock()
      const slot = bucket >>> 8
      const address = this.#table.address(slot)
      const period = this.#table.period(slot, now)
      const { capacity } = this
      const rate = this.#amount
      const left = cells.take(address, bucket & 255, period % PERIODS, rate, capacity, need, amount)
      if (left === MOVED) {
        this.#shared = -1
        continue
      }
      this.bucket = bucket
      let periods = 1
      if (left === REFUSED) {
        const level = cells.peek(address, bucket & 255, period % PERIODS, rate, capacity)
        periods = Math.max(1, Math.ceil((need - level) / rate))
      }
      this.waitMs = Math.max(0, this.#table.startOf(slot, period + periods) - now)
      return left === REFUSED ? -1 : left
    }
    this.bucket = -1
    this.waitMs = NO_BUCKET_WAIT_MS
    return -1
  }

  /** As take, but that nothing is taken and nothing is made. */
  look(caller: string | null, need: number, amount: number): number {
    const { cells, clock, sip } = this.#table
    const isOwn = caller !== null && caller !== ''
    sip.hash(caller ?? '', this.#tagLow, this.#tagHigh)
    const bucket = this.#table.find(sip.lo === 0 && sip.hi === 0 ? 1 : sip.lo, sip.hi, !isOwn)
    // One that nobody has used is full.
    if (bucket < 0) return this.capacity - amount
    const slot = bucket >>> 8
    const period = this.#table.period(slot, clock())
    const level = cells.peek(this.#table.address(slot), bucket & 255, period % PERIODS, this.#amount, this.capacity)
    if (level === MOVED) return this.capacity - amount
    const periods = Math.max(1, Math.ceil((need - level) / this.#amount))
    this.waitMs = Math.max(0, this.#table.startOf(slot, period + periods) - clock())
    return level >= need ? level - amount : -1
  }

  giveBack(bucket: number, amount: number): void {
    // One that has moved was full: nothing is missing in it.
    if (bucket >= 0) this.#add(bucket, amount)
  }

  charge(caller: string | null, amount: number): void {
    for (let i = 0; i < TRIES; i++) {
      const bucket = this.#find(caller)
      if (bucket < 0 || this.#add(bucket, -amount) !== MOVED) return
      this.#shared = -1
    }
  }

  #add(bucket: number, amount: number): number {
    const { cells, clock } = this.#table
    const slot = bucket >>> 8
    const period = this.#table.period(slot, clock()) % PERIODS
    return cells.add(this.#table.address(slot), bucket & 255, period, this.#amount, this.capacity, amount)
  }

  #find(caller: string | null): number {
    // The empty text is the name of what all share.
    if (caller !== null && caller !== '') {
      const own = this.#findOrMake(caller, this.#own)
      // Without the lock it is unknown whether there is one: to let it share would be to let it have both.
      if (own !== NO_ROOM) return own
      this.#table.countCrowded()
    }
    if (this.#shared < 0) this.#shared = this.#findOrMake('', this.#all)
    return this.#shared
  }

  #findOrMake(caller: string, newcomer: Newcomer): number {
    const { sip } = this.#table
    sip.hash(caller, this.#tagLow, this.#tagHigh)
    // Zero is the key of a place that was never used.
    return this.#table.findOrMake(sip.lo === 0 && sip.hi === 0 ? 1 : sip.lo, sip.hi, newcomer)
  }
}
