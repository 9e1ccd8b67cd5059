/**
 * Generated expressions on engine/cel and on @bufbuild/cel: both give the same value, or both fail. The
 * input is a row of choices: byte after byte picks what comes next, so that a small change of the input is
 * a small change of the expression. What the other library is known to do otherwise is not generated.
 */
import assert from 'node:assert/strict'
import { celEnv, isCelError, parse, plan } from '@bufbuild/cel'
import { CelError, compile, type Value } from '#engine/cel/index.ts'
import { isMap, keysOf, valueAt } from '#engine/cel/maps.ts'
import { Double, isDouble, isInt, numberOf, Uint } from '#engine/cel/numbers.ts'
import { Duration, type List, Timestamp, TypeValue } from '#engine/cel/values.ts'

export const name = 'cel-differential'

const DEPTH_MAX = 4
const LITERALS = {
  int: ['0', '1', '-1', '2', '7', '9223372036854775807', '-9223372036854775808', '9007199254740993'],
  // None above 2^63: the other library fails to divide those.
  uint: ['0u', '1u', '3u', '4294967296u'],
  double: ['0.0', '1.0', '-1.5', '2.5', '1e300', '-0.0'],
  string: ['""', '"a"', '"b"', '"abc"', '"é"', '"😀"', '"\\uffff"'],
  bool: ['true', 'false'],
  null: ['null'],
  bytes: ['b""', 'b"a"', 'b"\\xff"'],
  list: ['[]', '[1, 2, 3]', '["a", 1, null]', '[[1], [2.0]]'],
  map: ['{}', '{"a": 1}', '{1: "x", 2u: "y", true: "z"}', '{"a": {"b": [1]}}'],
  duration: ['duration("1h")', 'duration("-1.5s")'],
  timestamp: ['timestamp(0)', 'timestamp("2026-01-31T12:00:00.5Z")']
} as const
const KINDS = Object.keys(LITERALS) as (keyof typeof LITERALS)[]
const OPERATORS = ['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '&&', '||']
const MACROS = ['all', 'exists', 'exists_one', 'filter', 'map']
const FUNCTIONS = ['size', 'type', 'dyn']
const CONVERSIONS = ['int', 'uint', 'double']
/** What CONVERSIONS are given: the other library takes any text for a number. */
const NUMBERS = ['int', 'uint', 'double'] as const
/** What is looked for: the other library fails to look for what no map has as a key. */
const KEYS = ['int', 'uint', 'string', 'bool'] as const
const METHODS = ['contains', 'startsWith', 'endsWith']
/** Indexes: the other library takes a bool for the index of a list. */
const INDEXES = ['int', 'uint', 'double', 'string', 'null'] as const

class Choices {
  readonly #data: Buffer
  #at = 0

  constructor(data: Buffer) {
    this.#data = data
  }

  /** The next choice below `count`; the first one when the input is used up. */
  below(count: number): number {
    return (this.#data[this.#at++] ?? 0) % count
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}

/** An expression in which the variables `names` exist. */
function generate(choices: Choices, depth: number, names: readonly string[]): string {
  const literal = () =>
    names.length > 0 && choices.below(2) === 1 ? choices.pick(names) : choices.pick(LITERALS[choices.pick(KINDS)])
  if (depth >= DEPTH_MAX) return literal()
  const inner = () => generate(choices, depth + 1, names)
  switch (choices.below(12)) {
    case 0:
      return literal()
    case 1:
    case 2:
    case 3:
      return `(${inner()} ${choices.pick(OPERATORS)} ${inner()})`
    case 4:
      return `(${inner()} ? ${inner()} : ${inner()})`
    case 5: {
      const variable = `v${depth}`
      const body = generate(choices, depth + 1, [...names, variable])
      return `dyn(${inner()}).${choices.pick(MACROS)}(${variable}, ${body})`
    }
    case 6:
      return `${choices.pick(FUNCTIONS)}(${inner()})`
    case 7:
      return `dyn(${inner()}).${choices.pick(METHODS)}(dyn(${inner()}))`
    case 8:
      return choices.below(2) === 0
        ? `dyn(${inner()})[${choices.pick(LITERALS[choices.pick(INDEXES)])}]`
        : `dyn(${inner()}).a`
    case 9:
      return `(${choices.pick(LITERALS[choices.pick(KEYS)])} in ${inner()})`
    case 10:
      return `${choices.pick(CONVERSIONS)}(${choices.pick(LITERALS[choices.pick(NUMBERS)])})`
    default:
      // dyn(): the other library drops two signs in a row, whatever the type of what follows.
      return `${choices.pick(['!', '-'])}dyn(${inner()})`
  }
}

const ENV = celEnv()
/** A failure of either; which error it is differs and does not matter. */
const FAILED = 'failed'

export function run(data: Buffer): void {
  const source = generate(new Choices(data.subarray(0, 256)), 0, [])
  const ours = runOurs(source)
  const theirs = runTheirs(source)
  assert.deepEqual(ours, theirs, source)
}

function runOurs(source: string): unknown {
  const compiled = compile(source, { roots: {}, isLenient: true })
  assert.ok(compiled.ok, source)
  return ourForm(compiled.program.run({}))
}

function runTheirs(source: string): unknown {
  let value: unknown
  try {
    value = plan(ENV, parse(source))({})
  } catch {
    // It throws for some mistakes of types that it finds while it plans.
    return FAILED
  }
  return isCelError(value) ? FAILED : theirForm(value)
}

/** Values as plain data that can be compared: [type, value]. */
function ourForm(value: Value): unknown {
  if (value instanceof CelError) return FAILED
  if (isInt(value)) return ['int', String(value)]
  if (value instanceof Uint) return ['uint', String(value.value)]
  if (isDouble(value) || value instanceof Double) return ['double', String(numberOf(value))]
  if (value instanceof Uint8Array) return ['bytes', Buffer.from(value).toString('hex')]
  if (value instanceof Timestamp || value instanceof Duration) return ['time', String(value.nanos)]
  if (value instanceof TypeValue) return ['type', value.name]
  if (Array.isArray(value)) return ['list', (value as List).map(ourForm)]
  if (isMap(value)) return ['map', sorted(keysOf(value)!.map((key) => [ourForm(key), ourForm(valueAt(value, key))]))]
  return [typeof value, value]
}

function theirForm(value: unknown): unknown {
  if (typeof value === 'bigint') return ['int', String(value)]
  if (typeof value === 'number') return ['double', String(value)]
  if (value instanceof Uint8Array) return ['bytes', Buffer.from(value).toString('hex')]
  if (typeof value !== 'object' || value === null) return [typeof value, value]
  if (isCelError(value)) return FAILED
  const known = value as Readonly<Record<string, unknown>> & Partial<Iterable<unknown>>
  if (typeof known.value === 'bigint') return ['uint', String(known.value)]
  const message = known.message as { readonly seconds: bigint; readonly nanos: number } | undefined
  if (typeof message?.seconds === 'bigint')
    return ['time', String(message.seconds * 1_000_000_000n + BigInt(message.nanos))]
  if (typeof known.name === 'string') return ['type', known.name]
  if (typeof (known as { readonly entries?: unknown }).entries === 'function') {
    const entries = [...(known as unknown as { entries(): Iterable<readonly [unknown, unknown]> }).entries()]
    return 'has' in known
      ? ['map', sorted(entries.map(([key, item]) => [theirForm(key), theirForm(item)]))]
      : ['list', entries.map(([, item]) => theirForm(item))]
  }
  return ['list', [...(known as Iterable<unknown>)].map(theirForm)]
}

function sorted(entries: readonly unknown[]): unknown[] {
  return entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
