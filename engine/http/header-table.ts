/**
 * The part of llhttp's callbacks that runs once per header field, as WebAssembly.
 *
 * llhttp reports every name and value by a call. A call that leaves WebAssembly costs about as much
 * as parsing the field, so those that only note offsets stay inside: a second, tiny module takes them
 * and fills a table in its own memory, which is read once, when the head is complete
 * (docs/design/008-header-table.md has the figures).
 */

import { body, type Code, I32, instantiate, PREAMBLE, section, signed, text, unsigned } from './webassembly.ts'

/** Slots of the state, before the table: what the next execute() needs to know and what it leaves. */
export const IN_HEAD = 0 // 0: fields are trailers, which go to JavaScript
export const BASE = 1 // subtracted from every position
export const FIELDS_MAX = 2
export const TARGET_MAX = 3 // bytes
export const COUNT = 4 // fields seen
export const VALUE_SEEN = 5 // the last callback was about a value
export const TARGET_START = 6 // -1: none yet
export const TARGET_END = 7
export const OVERFLOW = 8 // one of the two below, or 0
/** First slot of the table: four per field, as HeaderBlock.at has them. */
export const ROWS = 16

export const OVERFLOW_FIELDS = 1
export const OVERFLOW_TARGET = 2

/** Room for the state and 8,000 fields; a listener may allow 4,096. */
const PAGES = 2

type Callback = (parser: number, at: number, length: number) => number

export interface HeaderTable {
  /** To be given to llhttp as they are: only then do its calls not leave WebAssembly. */
  readonly onField: Callback
  readonly onValue: Callback
  readonly onTarget: Callback
  readonly onSpan: Callback
  readonly onPoint: (parser: number) => number
  readonly slots: Int32Array
}

/** Called for trailers, which are few and may lie in several reads. */
export interface TrailerCallbacks {
  readonly field: Callback
  readonly value: Callback
}

export function makeHeaderTable(trailer: TrailerCallbacks): HeaderTable {
  type Exports = Omit<HeaderTable, 'slots'> & { readonly memory: { readonly buffer: ArrayBuffer } }
  const exports = instantiate<Exports>(assemble(), { trailer: { field: trailer.field, value: trailer.value } })
  const { onField, onValue, onTarget, onSpan, onPoint, memory } = exports
  return { onField, onValue, onTarget, onSpan, onPoint, slots: new Int32Array(memory.buffer) }
}

// --- the module, in WebAssembly's own words (WebAssembly Core Specification 1.0, section 5) ---

const RETURN: Code = [0x0f]
const END: Code = [0x0b]

const get = (local: number): Code => [0x20, local]
const set = (local: number, value: Code): Code => [...value, 0x21, local]
const int = (value: number): Code => [0x41, ...signed(value)]
const call = (index: number): Code => [0x10, index]
const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a]
const subtract = (a: Code, b: Code): Code => [...a, ...b, 0x6b]
const shiftLeft = (a: Code, bits: number): Code => [...a, ...int(bits), 0x74]
const or = (a: Code, b: Code): Code => [...a, ...b, 0x72]
const isZero = (a: Code): Code => [...a, 0x45]
const differs = (a: Code, b: Code): Code => [...a, ...b, 0x47]
const isLess = (a: Code, b: Code): Code => [...a, ...b, 0x48]
const isGreater = (a: Code, b: Code): Code => [...a, ...b, 0x4a]
const when = (condition: Code, ...then: Code[]): Code => [...condition, 0x04, 0x40, ...then.flat(), ...END]
/** Loads from, and stores at, the byte address `base` + 4 * `slot`. */
const loadAt = (base: Code, slot: number): Code => [...base, 0x28, 2, ...unsigned(slot * 4)]
const storeAt = (base: Code, slot: number, value: Code): Code => [...base, ...value, 0x36, 2, ...unsigned(slot * 4)]
const load = (slot: number): Code => loadAt(int(0), slot)
const store = (slot: number, value: Code): Code => storeAt(int(0), slot, value)

// Parameters and locals of the callbacks.
const PARSER = 0
const AT = 1
const LENGTH = 2
const OFFSET = 3
const ROW = 4

// Functions, by index: the two imports come first.
const TRAILER_FIELD = 0
const TRAILER_VALUE = 1

/** Table slot `part` (0 to 3) of the last of `row` / 16 fields. */
const part = (slot: number): number => ROWS - 4 + slot
const forward = (to: number): Code => when(isZero(load(IN_HEAD)), get(PARSER), get(AT), get(LENGTH), call(to), RETURN)
const overflow = (what: number): Code[] => [store(OVERFLOW, int(what)), int(-1), RETURN]

const onField: Code = [
  ...forward(TRAILER_FIELD),
  ...set(OFFSET, subtract(get(AT), load(BASE))),
  ...set(ROW, shiftLeft(load(COUNT), 4)),
  // A name that was split by the end of a read goes on exactly where it stopped.
  ...when(
    or(or(isZero(get(ROW)), load(VALUE_SEEN)), differs(loadAt(get(ROW), part(1)), get(OFFSET))),
    when(isZero(isLess(load(COUNT), load(FIELDS_MAX))), ...overflow(OVERFLOW_FIELDS)),
    store(COUNT, add(load(COUNT), int(1))),
    set(ROW, add(get(ROW), int(16))),
    storeAt(get(ROW), part(0), get(OFFSET)),
    store(VALUE_SEEN, int(0))
  ),
  ...set(OFFSET, add(get(OFFSET), get(LENGTH))),
  ...storeAt(get(ROW), part(1), get(OFFSET)),
  // A field without a value reports none: it is empty, right after its colon.
  ...set(OFFSET, add(get(OFFSET), int(1))),
  ...storeAt(get(ROW), part(2), get(OFFSET)),
  ...storeAt(get(ROW), part(3), get(OFFSET)),
  ...int(0)
]

const onValue: Code = [
  ...forward(TRAILER_VALUE),
  // An empty value is reported behind its line end: taken as it is, a forwarded line would end twice.
  ...when(isZero(get(LENGTH)), int(0), RETURN),
  ...set(OFFSET, subtract(get(AT), load(BASE))),
  ...set(ROW, shiftLeft(load(COUNT), 4)),
  ...when(isZero(load(VALUE_SEEN)), storeAt(get(ROW), part(2), get(OFFSET)), store(VALUE_SEEN, int(1))),
  ...storeAt(get(ROW), part(3), add(get(OFFSET), get(LENGTH))),
  ...int(0)
]

const onTarget: Code = [
  ...set(OFFSET, subtract(get(AT), load(BASE))),
  ...when(isLess(load(TARGET_START), int(0)), store(TARGET_START, get(OFFSET))),
  ...store(TARGET_END, add(get(OFFSET), get(LENGTH))),
  ...when(isGreater(subtract(load(TARGET_END), load(TARGET_START)), load(TARGET_MAX)), ...overflow(OVERFLOW_TARGET)),
  ...int(0)
]

/** Callbacks that are not used. */
const nothing: Code = int(0)

function assemble(): Uint8Array {
  const span = 0
  const point = 1
  const bodies = [onField, onValue, onTarget, nothing, nothing]
  const types = [span, span, span, span, point]
  const names = ['onField', 'onValue', 'onTarget', 'onSpan', 'onPoint']
  const exported = names.map((name, i) => [...text(name), 0x00, TRAILER_VALUE + 1 + i])
  return Uint8Array.from([
    ...PREAMBLE,
    ...section(1, [
      [0x60, 3, I32, I32, I32, 1, I32],
      [0x60, 1, I32, 1, I32]
    ]),
    ...section(2, [
      [...text('trailer'), ...text('field'), 0x00, span],
      [...text('trailer'), ...text('value'), 0x00, span]
    ]),
    ...section(
      3,
      types.map((type) => [type])
    ),
    ...section(5, [[0x01, PAGES, PAGES]]),
    ...section(7, [...exported, [...text('memory'), 0x02, 0]]),
    ...section(
      10,
      bodies.map((code) => body([[2, I32]], code))
    )
  ])
}
