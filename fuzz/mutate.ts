/** Makes inputs: takes one that is known, and breaks it. The same seed gives the same inputs. */

/** No input is longer; long ones are rare, because short ones find as much and run faster. */
export const INPUT_BYTES_MAX = 64 * 1024
/** Mutated inputs kept as starting points beside the corpus. */
const KEPT_MAX = 256

/** Bytes that parsers treat specially: ends of lines, lists, strings and numbers. */
const SPECIAL = Buffer.from('\0\t\n\r "#%&\',-./0:;=?@[\\]{}\x7f\x80\xff', 'latin1')

/** A small seeded generator (mulberry32): good enough to choose, repeatable, no state to carry. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 to below `limit`; 0 when the limit is 0. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let x = this.#state
    x = Math.imul(x ^ (x >>> 15), x | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  /** From 1 to `limit`, small numbers far more often than large ones. */
  small(limit: number): number {
    return 1 + this.below(Math.max(1, Math.min(limit, 2 ** this.below(Math.floor(Math.log2(limit)) + 2))))
  }

  pick<T>(list: ArrayLike<T>): T {
    return list[this.below(list.length)]!
  }
}

/** One way to break an input. `other` is a second known input to take from. */
type Mutation = (data: Buffer, random: Random, other: Buffer) => Buffer

const flipBit: Mutation = (data, random) => {
  if (data.length === 0) return data
  const at = random.below(data.length)
  data[at] = data[at]! ^ (1 << random.below(8))
  return data
}

const setByte: Mutation = (data, random) => {
  if (data.length > 0)
    data[random.below(data.length)] = random.below(2) === 0 ? random.pick(SPECIAL) : random.below(256)
  return data
}

const insertBytes: Mutation = (data, random) => {
  const fresh = Buffer.alloc(random.small(64), random.pick(SPECIAL))
  return insert(data, random, fresh)
}

const removeRange: Mutation = (data, random) => {
  const start = random.below(data.length)
  const end = Math.min(data.length, start + random.small(Math.max(1, data.length)))
  return Buffer.concat([data.subarray(0, start), data.subarray(end)])
}

const repeatRange: Mutation = (data, random) => {
  const start = random.below(data.length)
  const piece = data.subarray(start, start + random.small(64))
  const times = random.small(random.below(20) === 0 ? 2048 : 16)
  return insert(data, random, Buffer.concat(Array.from({ length: times }, () => piece)))
}

const truncate: Mutation = (data, random) => data.subarray(0, random.below(data.length + 1))

/** The beginning of one input and the end of another. */
const splice: Mutation = (data, random, other) =>
  Buffer.concat([data.subarray(0, random.below(data.length + 1)), other.subarray(random.below(other.length + 1))])

/** A piece of another input, anywhere. */
const graft: Mutation = (data, random, other) => {
  const start = random.below(other.length)
  return insert(data, random, other.subarray(start, start + random.small(256)))
}

const MUTATIONS = [flipBit, setByte, insertBytes, removeRange, repeatRange, truncate, splice, graft]

function insert(data: Buffer, random: Random, piece: Buffer): Buffer {
  const at = random.below(data.length + 1)
  return Buffer.concat([data.subarray(0, at), piece, data.subarray(at)])
}

export class Mutator {
  readonly #random: Random
  readonly #seeds: readonly Buffer[]
  readonly #dictionary: readonly Buffer[]
  readonly #kept: Buffer[] = []
  #made = 0

  /** `seeds` come out once each, unchanged, before anything is made of them. */
  constructor(seed: number, seeds: readonly Buffer[], dictionary: readonly string[]) {
    this.#random = new Random(seed)
    this.#seeds = [Buffer.alloc(0), ...seeds]
    this.#dictionary = dictionary.map((word) => Buffer.from(word, 'latin1'))
  }

  /** The next input: at most INPUT_BYTES_MAX bytes, the caller's to change. */
  next(): Buffer {
    const made = this.#made++
    if (made < this.#seeds.length) return Buffer.from(this.#seeds[made]!)
    const random = this.#random
    let data = Buffer.from(this.#known())
    for (let left = random.small(8); left > 0; left--) data = this.#mutate(data)
    if (data.length > INPUT_BYTES_MAX) data = data.subarray(0, INPUT_BYTES_MAX)
    // Kept inputs drift away from the seeds, step by step; dropping old ones keeps them from growing alike.
    if (random.below(8) === 0) this.#kept[random.below(KEPT_MAX)] = Buffer.from(data)
    return data
  }

  #known(): Buffer {
    const random = this.#random
    const kept = random.below(3) === 0 ? this.#kept[random.below(KEPT_MAX)] : undefined
    return kept ?? random.pick(this.#seeds)
  }

  #mutate(data: Buffer): Buffer<ArrayBuffer> {
    const random = this.#random
    const hasWords = this.#dictionary.length > 0
    if (hasWords && random.below(3) === 0) return Buffer.from(insert(data, random, random.pick(this.#dictionary)))
    return Buffer.from(random.pick(MUTATIONS)(data, random, this.#known()))
  }
}
