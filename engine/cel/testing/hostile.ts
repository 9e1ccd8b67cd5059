/**
 * What a stranger may send, for every function: `size` is the count of characters or elements of all arguments. Several
 * shapes each, because every way to be quadratic has its own: many names, one name often, a needle that almost fits.
 */

import type { Declared } from '#engine/cel/functions.ts'
import { HeaderFields } from '#engine/cel/headers.ts'
import { type Cidr, type Ip, parseCidr, parseIp } from '#engine/cel/lib/network.ts'
import { Double, Uint } from '#engine/cel/numbers.ts'
import { Duration, Optional, Timestamp, TypeValue, type Value } from '#engine/cel/values.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { secret } from '#engine/kit/secret.ts'

/** Arguments of that size. */
export type Hostile = (size: number) => readonly Value[]

/** `make(0) + make(1) + ...` up to `size` characters. */
function many(size: number, make: (i: number) => string): string {
  const parts: string[] = []
  for (let i = 0, length = 0; length < size; i++) {
    const part = make(i)
    parts.push(part)
    length += part.length
  }
  return parts.join('')
}

const TEXTS: readonly ((size: number) => string)[] = [
  (size) => 'a'.repeat(size),
  (size) => 'aA'.repeat(size / 2),
  (size) => '\u{1f600}'.repeat(size / 2),
  (size) => ' '.repeat(size),
  (size) => `${' '.repeat(size)}x`,
  (size) => '1'.repeat(size),
  (size) => '1.'.repeat(size / 2),
  (size) => `1.${'0'.repeat(size)}s`,
  (size) => '1h'.repeat(size / 2),
  (size) => '='.repeat(size),
  (size) => '%41'.repeat(size / 3),
  (size) => '%'.repeat(size),
  (size) => ':'.repeat(size),
  (size) => '\\"\n'.repeat(size / 3),
  (size) => 'YWJj'.repeat(size / 4),
  (size) => many(size, (i) => `k${i}=v&`),
  (size) => 'a=1&'.repeat(size / 4),
  (size) => `?${'a=1&'.repeat(size / 4)}`,
  (size) => `/p?${many(size, (i) => `k${i}=v&`)}#${'?'.repeat(size / 8)}`,
  (size) => '['.repeat(size),
  (size) => `${'['.repeat(size / 2)}${']'.repeat(size / 2)}`,
  (size) => `[${many(size, (i) => `${i},`)}0]`,
  (size) => `{${many(size, (i) => `"k${i}":${i},`)}"__proto__":{}}`,
  (size) => `{${many(size, (i) => `"${i * 7}":0,`)}"a":0}`,
  (size) => `[${many(size, (i) => `{"k${i}":0},`)}0]`,
  (size) => `a.${'A'.repeat(size)}.b`,
  (size) => `2026-01-31T12:00:00.${'1'.repeat(size)}x`
]

/** A text and what is looked for in it: every kind of needle that makes some search go back. */
const NEEDLES: readonly ((size: number) => readonly [string, string])[] = [
  (size) => ['a'.repeat(size), 'a'],
  (size) => ['a'.repeat(size), ''],
  (size) => ['ab'.repeat(size / 2), 'b'],
  (size) => ['a'.repeat(size), `${'a'.repeat(size / 2)}b`],
  (size) => ['a'.repeat(size), `b${'a'.repeat(size / 2)}`],
  (size) => ['a'.repeat(size), `${'a'.repeat(size / 4)}b${'a'.repeat(size / 4)}`],
  (size) => ['ab'.repeat(size / 2), `${'ab'.repeat(size / 4)}b`],
  (size) => [`${'a'.repeat(99)}b`.repeat(size / 100), `${'a'.repeat(99)}b`.repeat(size / 200).slice(1)],
  (size) => ['\u{1f600}'.repeat(size / 2), '\u{1f600}'.repeat(size / 8)],
  (size) => ['a'.repeat(size), 'a'.repeat(size)],
  (size) => ['a=1&'.repeat(size / 4), 'a'],
  (size) => [`/?${'a=1&'.repeat(size / 4)}`, 'a'],
  (size) => [many(size, (i) => `/?k${i}=v&`), 'k1'],
  (size) => [`[${many(size, (i) => `${i},`)}0]`, '0.'.repeat(size / 2)]
]

/** Patterns that make engines go back, or look at the end of the text again and again. */
const PATTERNS: readonly ((size: number) => readonly [string, string])[] = [
  (size) => ['a'.repeat(size), '(a+)+b'],
  (size) => ['a'.repeat(size), 'a(?:.*b)?'],
  (size) => ['a'.repeat(size), '(a|aa)+$'],
  (size) => ['a'.repeat(size), 'a*'],
  (size) => ['a'.repeat(size), '(.*)(.*)(.*)x'],
  (size) => ['ab'.repeat(size / 2), '[ab]*a[ab]{8}c'],
  (size) => ['\u{1f600}'.repeat(size / 2), '\\pL+x']
]

const indices = (size: number): number[] => Array.from({ length: size }, (_, i) => i)

const LISTS: readonly ((size: number) => readonly Value[])[] = [
  indices,
  (size) => indices(size).map((i) => i + 0.5),
  (size) => indices(size).map((i) => BigInt(i) << 40n),
  (size) => indices(size).map((i) => new Double(i)),
  (size) => indices(size).map((i) => new Uint(BigInt(i))),
  collidingInts,
  (size) => indices(size).map((i) => `key-${i}`),
  (size) => indices(size / 4).map((i) => [i]),
  (size) => indices(size / 4).map((i) => ({ k: i })),
  (size) => indices(Math.sqrt(size)).map((i) => indices(i)),
  (size) => indices(size / 512).map((i) => `${'a'.repeat(508)}${i}`),
  (size) => indices(size / 4).map((i) => new Timestamp(BigInt(i))),
  (size) => indices(size / 4).map((i) => new Uint8Array([i, i >> 8, i >> 16])),
  nested
]

/** [x, [x, [x, ...]]]: as deep as walks go. */
function nested(size: number): readonly Value[] {
  const filler = 'x'.repeat(size / 100)
  let list: readonly Value[] = [filler]
  for (let i = 0; i < 100; i++) list = [filler, list]
  return list
}

/**
 * Ints that JavaScript's engine puts into one bucket of a Set or Map: its hash of ints has no seed. `hash` is undone
 * step by step (V8's ComputeUnseededHash, after Wang), for hashes that agree in their low bits.
 */
function collidingInts(size: number): number[] {
  return indices(Math.min(size / 8, 65_536)).map((i) => {
    let hash = (i << 15) | 5
    hash ^= hash >>> 16
    hash = Math.imul(hash, inverse(2057))
    hash = undoShift(hash, 4)
    hash = Math.imul(hash, inverse(5))
    hash = undoShift(hash, 12)
    return Math.imul(hash + 1, inverse(32_767)) | 0
  })
}

/** x for x ^ (x >>> by). */
function undoShift(hash: number, by: number): number {
  let x = hash
  for (let i = by; i < 32; i += by) x = hash ^ (x >>> by)
  return x
}

/** Of an odd number, modulo 2^32 (Newton). */
function inverse(of: number): number {
  let x = of
  for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(of, x))
  return x
}

const MAPS: readonly ((size: number) => Value)[] = [
  (size) => Object.fromEntries(indices(size / 4).map((i) => [`k${i}`, `v${i}`])),
  (size) => Object.fromEntries(indices(size / 4).map((i) => [`${i * 7}`, i])),
  (size) => new Map(indices(size / 4).map((i): [string, Value] => [`k${i}`, [i]])),
  (size) => headers(indices(size / 8).map((i) => [`x-${i}`, 'a, b'])),
  (size) => headers(indices(size / 8).map(() => ['cookie', 'b=1'])),
  (size) => headers([['cookie', 'b=1;'.repeat(size / 4)]])
]

function headers(lines: readonly (readonly [string, string])[]): HeaderFields {
  const block = new HeaderBlock()
  for (const [name, value] of lines) block.receive(name, value)
  return new HeaderFields(block)
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
/** Values of each type. Those of one size have one. */
const OF_TYPE: Readonly<Record<Declared['args'][number]['name'], readonly ((size: number) => Value)[]>> = {
  dyn: [...TEXTS, ...LISTS, ...MAPS, (size) => bytesOf('a'.repeat(size))],
  string: TEXTS,
  bytes: TEXTS.slice(0, 3).map((make) => (size) => bytesOf(make(size))),
  list: LISTS,
  map: MAPS,
  bool: [() => true],
  int: [() => 3, () => 2n ** 62n],
  uint: [() => new Uint(3n)],
  double: [() => 1.5e300],
  null: [() => null],
  timestamp: [() => new Timestamp(1n)],
  duration: [() => new Duration(1n)],
  type: [() => new TypeValue('int')],
  optional: LISTS.slice(0, 2).map((make) => (size) => new Optional({ value: make(size) })),
  ip: [() => parseIp('2001:db8::1') satisfies Ip | null as Value],
  cidr: [() => parseCidr('10.0.0.0/8') satisfies Cidr | null as Value],
  secret: [() => secret('hush') as Value]
}

type TypeName = Declared['args'][number]['name']
const isAnySize = ({ name }: Declared['args'][number]): boolean => OF_TYPE[name].length > 2
const first = (type: TypeName, size: number): Value => OF_TYPE[type][0]!(size)

/** Texts of all shapes with another text that they are cut by, escaped with, or matched against. */
const withText = (text: string): Hostile[] =>
  TEXTS.map(
    (make): Hostile =>
      (size) => [make(size), text]
  )

/** A list beside a list: the same, one that shares its elements, one that shares none. */
const TWO_LISTS: readonly Hostile[] = LISTS.slice(-10).flatMap((make): Hostile[] => [
  (size) => [make(size / 2), make(size / 2)],
  (size) => [make(size / 2), make(size / 2).toReversed()],
  (size) => [indices(size / 8).map((i) => [i, i]), make(size / 2)]
])

/** Functions with several arguments of any size: what matters is how these go together. By signature. */
const TOGETHER: Readonly<Record<string, readonly Hostile[]>> = {
  'string.contains(string)': NEEDLES,
  'string.startsWith(string)': NEEDLES,
  'string.endsWith(string)': NEEDLES,
  'string.indexOf(string)': NEEDLES,
  'string.indexOf(string, int)': NEEDLES.map((make) => (size) => [...make(size), 1]),
  'string.lastIndexOf(string)': NEEDLES,
  'string.lastIndexOf(string, int)': NEEDLES.map((make) => (size) => [...make(size), size / 2]),
  'string.replace(string, string)': NEEDLES.flatMap((make): Hostile[] => [
    (size) => [...make(size), ''],
    (size) => [...make(size), 'xyz']
  ]),
  'string.replace(string, string, int)': NEEDLES.map((make) => (size) => [...make(size), 'x', size / 8]),
  'string.split(string)': NEEDLES,
  'string.split(string, int)': NEEDLES.map((make) => (size) => [...make(size), size / 8]),
  'string.stripPrefix(string)': NEEDLES,
  'string.stripSuffix(string)': NEEDLES,
  'list.join(string)': [
    (size) => [indices(size).map(String), ','],
    (size) => [indices(99).map(String), 'a'.repeat(size)]
  ],
  'string.format(list)': [
    ...LISTS.map(
      (make): Hostile =>
        (size) => ['%s', [make(size)]]
    ),
    ...MAPS.map(
      (make): Hostile =>
        (size) => ['%s', [make(size)]]
    ),
    (size) => ['%s'.repeat(size / 2), indices(size / 2)],
    (size) => ['%%'.repeat(size / 2), []],
    (size) => ['%'.repeat(size), []],
    (size) => ['%.99f'.repeat(size / 64), indices(size / 64).map((i) => i + 0.5)],
    (size) => ['%x', ['a'.repeat(size)]]
  ],
  'matches(string, string)': [...PATTERNS, (size) => ['a', 'a'.repeat(size)]],
  'string.matches(string)': PATTERNS,
  'regexReplace(string, string, string)': PATTERNS.map((make) => (size) => [...make(size), '$0']),
  'string.regexReplace(string, string)': PATTERNS.map((make) => (size) => [...make(size), '$0']),
  'sets.contains(list, list)': TWO_LISTS,
  'sets.equivalent(list, list)': TWO_LISTS,
  'sets.intersects(list, list)': TWO_LISTS,
  'merge(map, map)': MAPS.map((make, i) => (size) => [make(size / 2), MAPS[(i + 1) % MAPS.length]!(size / 2)]),
  'map.merge(map)': MAPS.map((make) => (size) => [make(size / 2), make(size / 2)]),
  'jsonField(string, string)': [...NEEDLES, ...withText('k1.0')],
  'map.cookie(string)': MAPS.map((make) => (size) => [make(size), 'a']),
  'string.query(string)': withText('a'),
  'string.addQuery(string, string)': TEXTS.map((make) => (size) => [make(size), 'a', 'b']),
  'string.setQuery(string, string)': TEXTS.map((make) => (size) => [make(size), 'a', 'b']),
  'optional.orValue(dyn)': [(size) => [first('optional', size), first('list', size)]],
  'optional.or(optional)': [(size) => [first('optional', size), first('optional', size)]],
  'min(dyn)': [(size) => ['a'.repeat(size)]],
  'max(dyn)': [(size) => ['a'.repeat(size)]],
  'math.least(dyn)': [(size) => ['a'.repeat(size)]],
  'math.greatest(dyn)': [(size) => ['a'.repeat(size)]]
}

/** How its declaration is written: string.split(string, int), size(list). */
export function signature({ name, isMethod, args }: Declared): string {
  const types = args.map((type) => type.name)
  return isMethod ? `${types[0]}.${name}(${types.slice(1).join(', ')})` : `${name}(${types.join(', ')})`
}

/** Inputs for a function; null: several of its arguments can be large, and how to combine them is not declared. */
export function hostileInputs(declared: Declared): readonly Hostile[] | null {
  const { args } = declared
  const together = TOGETHER[signature(declared)]
  if (together !== undefined) return together
  const large = args.findIndex(isAnySize)
  if (large !== args.findLastIndex(isAnySize)) return null
  if (large < 0) return [(size) => args.map(({ name }) => first(name, size))]
  return OF_TYPE[args[large]!.name].map((make): Hostile => {
    return (size) => args.map(({ name }, i) => (i === large ? make(size) : first(name, size)))
  })
}

/** For macros and operators. */
export { LISTS as HOSTILE_LISTS, MAPS as HOSTILE_MAPS, NEEDLES as HOSTILE_PAIRS }
