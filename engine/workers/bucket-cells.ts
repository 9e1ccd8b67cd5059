/**
 * What happens to one token bucket, as WebAssembly: its whole state is one word of 64 bits, changed by
 * compare-and-exchange. JavaScript has no atomic operation of 64 bits that makes no BigInt, and with two
 * words of 32 a thread could die, or be overtaken, between them.
 *
 * The word: generation (8 bits), period of the last change (24), tokens left (32, signed). The generation
 * changes with the bucket's owner, so that a call that comes too late for its bucket changes nothing.
 */
import {
  body,
  type Code,
  I32,
  I64,
  instantiate,
  PREAMBLE,
  type SharedMemory,
  section,
  signed,
  text,
  unsigned
} from '#engine/http/webassembly.ts'

/** Answers that are no level: the bucket has another owner; there are not enough tokens. */
export const MOVED = -2_147_483_648
export const REFUSED = -2_147_483_647
/** Debt ends here, so that the arithmetic has an end. */
export const LEVEL_MIN = -2_000_000_000
/** Periods count up to this and begin again; a bucket that slept longer is filled too little, never too much. */
export const PERIODS = 1 << 24
/** A clock may be this many periods behind another's; the period of the bucket holds then. */
const BEHIND_MAX = 4096

/** `address`: of the word, in bytes, divisible by 8. `period`: of now, modulo PERIODS. Levels are tokens. */
export interface BucketCells {
  /** Takes `amount` (0 or more) if at least `need` are there; the level after it, REFUSED or MOVED. */
  take(
    address: number,
    generation: number,
    period: number,
    rate: number,
    capacity: number,
    need: number,
    amount: number
  ): number
  /** Adds `amount`, which may be negative: debt is remembered. The level after it, or MOVED. */
  add(address: number, generation: number, period: number, rate: number, capacity: number, amount: number): number
  /** The level that take would find, or MOVED. */
  peek(address: number, generation: number, period: number, rate: number, capacity: number): number
  /** Replaces the word if it is as given, in halves. 1: done. */
  swap(address: number, oldHigh: number, oldLow: number, high: number, low: number): number
}

export function bucketCells(memory: SharedMemory): BucketCells {
  const pages = memory.buffer.byteLength / 65_536
  return instantiate<BucketCells>(assemble(pages), { shared: { memory } })
}

// --- the module ---

const get = (local: number): Code => [0x20, local]
const set = (local: number, value: Code): Code => [...value, 0x21, local]
const int = (value: number): Code => [0x41, ...signed(value)]
const long = (value: number): Code => [0x42, ...signed(value)]
const answer = (value: Code): Code => [...value, 0x0f]
const when = (condition: Code, ...then: Code[]): Code => [...condition, 0x04, 0x40, ...then.flat(), 0x0b]
const loop = (...codes: Code[]): Code => [0x03, 0x40, ...codes.flat(), 0x0b, 0x00]
/** To the start of the innermost loop, when the condition holds. */
const againIf = (condition: Code): Code => [...condition, 0x0d, 0]

const subtract32 = (a: Code, b: Code): Code => [...a, ...b, 0x6b]
const and32 = (a: Code, b: Code): Code => [...a, ...b, 0x71]
const differs32 = (a: Code, b: Code): Code => [...a, ...b, 0x47]
const isGreaterUnsigned32 = (a: Code, b: Code): Code => [...a, ...b, 0x4b]
const isZero32 = (a: Code): Code => [...a, 0x45]

const add64 = (a: Code, b: Code): Code => [...a, ...b, 0x7c]
const subtract64 = (a: Code, b: Code): Code => [...a, ...b, 0x7d]
const multiply64 = (a: Code, b: Code): Code => [...a, ...b, 0x7e]
const or64 = (a: Code, b: Code): Code => [...a, ...b, 0x84]
const shiftLeft64 = (a: Code, bits: number): Code => [...a, ...long(bits), 0x86]
const shiftRight64 = (a: Code, bits: number): Code => [...a, ...long(bits), 0x88]
const isEqual64 = (a: Code, b: Code): Code => [...a, ...b, 0x51]
const differs64 = (a: Code, b: Code): Code => [...a, ...b, 0x52]
const isLess64 = (a: Code, b: Code): Code => [...a, ...b, 0x53]
const isGreater64 = (a: Code, b: Code): Code => [...a, ...b, 0x55]
const low = (a: Code): Code => [...a, 0xa7]
const signedLong = (a: Code): Code => [...a, 0xac]
const unsignedLong = (a: Code): Code => [...a, 0xad]
const load = (address: Code): Code => [...address, 0xfe, 0x11, 3, 0]
const exchange = (address: Code, old: Code, fresh: Code): Code => [...address, ...old, ...fresh, 0xfe, 0x49, 3, 0]

// Parameters that the first three functions share, by index.
const ADDRESS = 0
const GENERATION = 1
const PERIOD = 2
const RATE = 3
const CAPACITY = 4

interface Locals {
  readonly old: number
  readonly level: number
  readonly last: number
  readonly elapsed: number
}

/** The locals behind `parameters` of them, in the order of `LOCALS`. */
const localsAfter = (parameters: number): Locals => ({
  old: parameters,
  level: parameters + 1,
  last: parameters + 2,
  elapsed: parameters + 3
})
const LOCALS = [
  [2, I64],
  [2, I32]
] as const

/** Reads the word, checks its owner, and fills it up to the period of now: `level`, `old` and PERIOD are set. */
const refill = ({ old, level, last, elapsed }: Locals): Code => [
  ...set(old, load(get(ADDRESS))),
  ...when(differs32(low(shiftRight64(get(old), 56)), get(GENERATION)), answer(int(MOVED))),
  ...set(last, and32(low(shiftRight64(get(old), 32)), int(PERIODS - 1))),
  ...set(level, signedLong(low(get(old)))),
  ...set(elapsed, and32(subtract32(get(PERIOD), get(last)), int(PERIODS - 1))),
  ...when(
    isGreaterUnsigned32(get(elapsed), int(PERIODS - 1 - BEHIND_MAX)),
    set(PERIOD, get(last)),
    set(elapsed, int(0))
  ),
  ...set(level, add64(get(level), multiply64(unsignedLong(get(elapsed)), unsignedLong(get(RATE))))),
  ...cut({ level })
]

const cut = ({ level }: Pick<Locals, 'level'>): Code =>
  when(isGreater64(get(level), unsignedLong(get(CAPACITY))), set(level, unsignedLong(get(CAPACITY))))

/** Stores the level; begins again when another thread was faster. */
const store = ({ old, level }: Locals): Code => [
  ...againIf(differs64(exchange(get(ADDRESS), get(old), word(level)), get(old))),
  ...answer(low(get(level)))
]

const word = (level: number): Code =>
  or64(
    or64(
      shiftLeft64(unsignedLong(get(GENERATION)), 56),
      shiftLeft64(unsignedLong(and32(get(PERIOD), int(PERIODS - 1))), 32)
    ),
    unsignedLong(low(get(level)))
  )

function takeCode(): Code {
  const [need, amount] = [5, 6]
  const locals = localsAfter(7)
  const { level } = locals
  return loop(
    refill(locals),
    when(isLess64(get(level), signedLong(get(need))), answer(int(REFUSED))),
    when(isZero32(get(amount)), answer(low(get(level)))),
    set(level, subtract64(get(level), signedLong(get(amount)))),
    store(locals)
  )
}

function addCode(): Code {
  const amount = 5
  const locals = localsAfter(6)
  const { level } = locals
  return loop(
    refill(locals),
    set(level, add64(get(level), signedLong(get(amount)))),
    cut(locals),
    when(isLess64(get(level), long(LEVEL_MIN)), set(level, long(LEVEL_MIN))),
    store(locals)
  )
}

function peekCode(): Code {
  const locals = localsAfter(5)
  return [...refill(locals), ...low(get(locals.level))]
}

function swapCode(): Code {
  const [oldHigh, oldLow, high, lowHalf] = [1, 2, 3, 4]
  const whole = (upper: number, lower: number): Code =>
    or64(shiftLeft64(unsignedLong(get(upper)), 32), unsignedLong(get(lower)))
  const old = whole(oldHigh, oldLow)
  return isEqual64(exchange(get(ADDRESS), old, whole(high, lowHalf)), old)
}

function assemble(pages: number): Uint8Array {
  const functions = [
    { name: 'take', parameters: 7, code: takeCode() },
    { name: 'add', parameters: 6, code: addCode() },
    { name: 'peek', parameters: 5, code: peekCode() },
    { name: 'swap', parameters: 5, code: swapCode() }
  ]
  const types = functions.map(({ parameters }) => [0x60, parameters, ...Array(parameters).fill(I32), 1, I32])
  return Uint8Array.from([
    ...PREAMBLE,
    ...section(1, types),
    // A memory that is shared (3) and has both limits.
    ...section(2, [[...text('shared'), ...text('memory'), 0x02, 0x03, ...unsigned(pages), ...unsigned(pages)]]),
    ...section(
      3,
      functions.map((_, type) => [type])
    ),
    ...section(
      7,
      functions.map(({ name }, index) => [...text(name), 0x00, index])
    ),
    ...section(
      10,
      functions.map(({ code }) => body(LOCALS, code))
    )
  ])
}
