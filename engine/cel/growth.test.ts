/**
 * Whatever a stranger sends, the work of an expression grows with its size and not with the square of it. Every
 * function of the library, every macro and every operator is run on hostile inputs of growing size; the CPU time of
 * this thread is compared with itself, so that a slow machine changes nothing.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cpuMs } from '#engine/testing/cpu.ts'
import { CelError, compile, type Program } from './index.ts'
import { declarations } from './library.ts'
import { macroNames } from './macros.ts'
import {
  HOSTILE_LISTS,
  HOSTILE_MAPS,
  HOSTILE_PAIRS,
  type Hostile,
  hostileInputs,
  signature
} from './testing/hostile.ts'
import type { Value } from './values.ts'
import { RUN_MS_MAX } from './walk.ts'

const SIZES = [512, 8_192, 65_536]
/** What is linear takes 128 times as long for the last size as for the first, what is quadratic 16,384 times. */
const EXCESS_MAX = 16
/** Below it, an input of 64 KiB is harmless, whatever its curve: a map grows into another form of memory. */
const HARMLESS_MS = 40
/** Of work that is said to be the same for all sizes. */
const CONSTANT_MS = 2
const TRIES = 4
const HOPELESS = 8

type Arguments = Readonly<Record<string, Value>>

/** Kernels may account for CPU time in ticks: below it, the wall clock is nearer. */
const TICK_MS = 10

function spentMs(work: () => void): number {
  const from = performance.now()
  const cpu = cpuMs(work)
  return Math.min(performance.now() - from, cpu + TICK_MS)
}

/** The least of several tries; the first that is little enough, or hopeless, ends them. */
function leastMs(work: () => void, enough: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least > enough; i++) {
    const took = spentMs(work)
    if (enough > 0 && took > Math.max(enough, RUN_MS_MAX) * HOPELESS) return took
    least = Math.min(least, took)
  }
  return least
}

const NAMES = ['a', 'b', 'c', 'd']
const ROOTS = Object.fromEntries(NAMES.map((name) => [name, { type: 'dyn' as const }]))

function programFor(source: string): Program<Arguments> {
  const compiled = compile<Arguments>(source, { roots: ROOTS })
  assert.ok(compiled.ok, source)
  return compiled.program
}

function hadItsTime(result: Value): boolean {
  return result instanceof CelError && result.code === 'time'
}

const contextOf = (values: ReturnType<Hostile>) => Object.fromEntries(NAMES.map((name, i) => [name, values[i] ?? null]))

function assertLinear(source: string, inputs: readonly Hostile[], isConstant = false): void {
  const program = programFor(source)
  for (const [shape, make] of inputs.entries()) {
    let unitMs = 0
    for (const size of SIZES) {
      const context = contextOf(make(size))
      let hasEnded = false
      const work = () => {
        hasEnded ||= hadItsTime(program.run(context))
      }
      if (unitMs === 0) {
        work()
        unitMs = leastMs(work, 0) / size
        continue
      }
      const allowed = isConstant ? CONSTANT_MS : Math.max(HARMLESS_MS, unitMs * size * EXCESS_MAX)
      const took = leastMs(work, allowed)
      // What has not had its time yet has it soon.
      if (took > allowed && !hasEnded) hasEnded = hadItsTime(program.run(contextOf(make(4 * size))))
      if (hasEnded && took < 2 * RUN_MS_MAX) continue
      assert.ok(
        took <= allowed,
        `shape ${shape} at ${size}: ${took} ms, where ${allowed} ms are ${EXCESS_MAX} times linear`
      )
    }
  }
}

describe('every function is linear in what it is given', () => {
  for (const declared of declarations()) {
    const { isMethod, args, name, sized } = declared
    test(signature(declared), () => {
      const inputs = hostileInputs(declared)
      assert.ok(inputs !== null, 'give it inputs in testing/hostile.ts (TOGETHER)')
      const names = NAMES.slice(0, args.length)
      const call = isMethod ? `${names[0]}.${name}(${names.slice(1).join(', ')})` : `${name}(${names.join(', ')})`
      assertLinear(call, inputs, !sized)
    })
  }
})

/** What a macro does inside, and inside another of its kind: `a` is a list or a map, `b` a text. */
const FOLDS: Readonly<Record<string, readonly string[]>> = {
  all: ['a.all(x, true)', 'a.all(i, x, i != "")', 'a.all(x, a.all(y, y == y))', 'a.all(x, a.exists(y, x == y))'],
  exists: ['a.exists(x, false)', 'a.exists(x, x in a && false)', 'a.exists(x, size(a) < 0)', 'a.exists(x, x == a)'],
  existsOne: ['a.existsOne(x, false)'],
  exists_one: ['a.exists_one(x, a.exists_one(y, x == y))'],
  map: [
    'a.map(x, x)',
    'a.map(x, a)',
    'a.map(x, a + a)',
    'a.map(x, [x]).map(y, y + a)',
    'a.map(x, true, dyn(a).toJson())'
  ],
  filter: ['a.filter(x, true)', 'a.filter(x, b == b + "x")', 'a.filter(x, b.contains("x"))'],
  sortBy: ['a.sortBy(x, 1)', 'a.sortBy(x, b)', 'a.sortBy(x, string(x))'],
  mapValues: ['a.mapValues(v, v)', 'a.mapValues(v, size(a))'],
  filterKeys: ['a.filterKeys(k, true)', 'a.filterKeys(k, a[k] == a[k])'],
  transformList: ['a.transformList(i, v, v)', 'a.transformList(i, v, a.transformList(j, w, w))'],
  transformMap: ['a.transformMap(i, v, v)', 'a.transformMap(i, v, {i: a})'],
  transformMapEntry: ['a.transformMapEntry(i, v, {i: v})', 'a.transformMapEntry(i, v, {v: i})'],
  with: ['a.with(x, [x, x].with(y, [y, y].with(z, [z, z] == [z, z])))'],
  optMap: ['optional.of(a).optMap(x, x == a)'],
  optFlatMap: ['optional.of(a).optFlatMap(x, optional.of(x == a))'],
  has: ['a.map(x, has(a.k1))'],
  default: ['a.map(x, default(a.k1, b))'],
  coalesce: ['a.map(x, coalesce(a.k1, b))']
}

const OVER_ONE: readonly Hostile[] = [...HOSTILE_LISTS.slice(4, 9), ...HOSTILE_MAPS.slice(1, 4)].map((make) => {
  return (size) => [make(size), 'b'.repeat(size)]
})

describe('a macro is linear in its list, or its steps or its time end it', () => {
  for (const name of macroNames()) {
    test(name, () => {
      const sources = FOLDS[name]
      assert.ok(sources !== undefined, 'give it expressions in FOLDS')
      for (const source of sources) assertLinear(source, OVER_ONE)
    })
  }
})

const OPERATORS = ['==', '!=', '<', '<=', '>', '>=', 'in', '+', '-', '*', '/', '%', '&&', '||']

describe('an operator is linear in both of its sides', () => {
  const equals = HOSTILE_LISTS.slice(4).map(
    (make): Hostile =>
      (size) => [make(size), make(size)]
  )
  const maps = HOSTILE_MAPS.map(
    (make): Hostile =>
      (size) => [make(size), make(size)]
  )
  for (const operator of OPERATORS) {
    test(operator, () => {
      assertLinear(`a ${operator} b`, [...equals, ...maps, ...HOSTILE_PAIRS])
      assertLinear(`a.map(x, x ${operator} x)`, equals)
    })
  }
})
