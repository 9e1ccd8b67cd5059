/**
 * The published CEL conformance data against engine/cel. What needs protobuf message types is left out and
 * counted: Weir reads headers, claims and JSON, and has no messages. Every known miss is in MISSES below,
 * with its reason; docs/cel.md shows both lists.
 */
import { tests as data } from '@bufbuild/cel-spec/testdata/conformance.js'
import type { SerializedIncrementalTest, SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { equal } from '#engine/cel/compare.ts'
import { CelError, compile, type Roots, typeName, type Value } from '#engine/cel/index.ts'
import { MapBuilder } from '#engine/cel/maps.ts'
import { doubleOf, intOf, isDouble, numberOf, Uint } from '#engine/cel/numbers.ts'
import { type List, TypeValue } from '#engine/cel/values.ts'

/** A test of the data, as its JSON has it. */
interface Case {
  readonly section: string
  readonly name: string
  readonly expr: string
  readonly original: Readonly<Record<string, unknown>>
}

interface Section {
  readonly name: string
  passed: number
  failed: number
  /** Need message types. */
  excluded: number
}

export interface Report {
  readonly sections: readonly Section[]
  readonly passed: number
  readonly failed: number
  /** Of `failed`, those that MISSES names. */
  readonly known: number
  readonly misses: readonly { readonly name: string; readonly expr: string; readonly why: string }[]
}

/** Misses that are known, by the beginning of their name, and why they are. */
export const MISSES: Readonly<Record<string, string>> = {
  'type_deductions/flexible_type_parameter_assignment/': 'asks for the type parameters of a list or an optional',
  'type_deductions/functions/': 'declares a function in its environment, for its type alone',
  'type_deductions/type_parameters/': 'declares functions with type parameters in its environment',
  'type_deductions/legacy_nullable_types/': 'asks for the type parameters of a list of optionals'
}

/** Values and types that only protobuf has: in bindings, declarations or results. */
const MESSAGE_DATA = /"(?:objectValue|messageType|enumValue|wrapper)"/
/** Messages, enums and extensions that the source names. */
const MESSAGE_NAMES =
  /\b[A-Z]\w*\s*\{|TestAllTypes|GlobalEnum|NestedEnum|TestRequired|google\.protobuf\.(?!Timestamp\b|Duration\b)|proto\.(?:get|has)Ext/

function needsMessages({ expr, original }: Case): boolean {
  return MESSAGE_NAMES.test(expr) || MESSAGE_DATA.test(JSON.stringify(original))
}

export function runCel(): Report {
  const sections: Section[] = []
  const misses: Report['misses'][number][] = []
  for (const suite of data.suites ?? []) {
    const section = { name: suite.name, passed: 0, failed: 0, excluded: 0 }
    for (const test of casesOf(suite, suite.name)) {
      if (needsMessages(test)) {
        section.excluded++
        continue
      }
      const why = judge(test)
      if (why === null) section.passed++
      else {
        section.failed++
        misses.push({ name: test.name, expr: test.expr, why })
      }
    }
    if (section.passed + section.failed + section.excluded > 0) sections.push(section)
  }
  const sum = (read: (section: Section) => number) => sections.reduce((total, section) => total + read(section), 0)
  const known = misses.filter(({ name }) => Object.keys(MISSES).some((prefix) => name.startsWith(prefix))).length
  return { sections, passed: sum((s) => s.passed), failed: sum((s) => s.failed), known, misses }
}

/** The report as lines. */
export function printCel(report: Report, withMisses: boolean): string[] {
  const lines = report.sections.map(({ name, passed, failed, excluded }) => {
    const left = excluded === 0 ? '' : `, ${excluded} need message types`
    return `  ${name}: ${passed} passed, ${failed} failed${left}`
  })
  if (withMisses) for (const { name, expr, why } of report.misses) lines.push(`  miss ${name}: ${expr}: ${why}`)
  return [...lines, `cel: ${report.passed} passed, ${report.failed} failed`]
}

function casesOf(suite: SerializedIncrementalTestSuite, path: string): Case[] {
  const nested = (suite.suites ?? []).flatMap((inner) => casesOf(inner, `${path}/${inner.name}`))
  const own = (suite.tests ?? []).map(({ original }: SerializedIncrementalTest) => {
    return { section: path, name: `${path}/${original.name ?? ''}`, expr: original.expr, original }
  })
  return [...nested, ...own]
}

/** Null when the test passes, else what went wrong. */
function judge({ expr, original }: Case): string | null {
  const { container = '', disableCheck = false, checkOnly = false } = original as Readonly<Record<string, never>>
  const options = { roots: rootsOf(original), container, isLenient: disableCheck }
  const compiled = compile(expr, options)
  const fails = original.evalError !== undefined
  if (!compiled.ok) return fails ? null : `refused: ${compiled.problems[0]!.message}`
  if (checkOnly) return `type ${compiled.program.type}, and the test asks for a type with parameters`
  const value = compiled.program.run(contextOf(original))
  if (value instanceof CelError) return fails ? null : `error: ${value.message}`
  if (fails) return `no error but ${show(value)}`
  const typed = original.typedResult as { readonly result: Wire } | undefined
  const expected = typed === undefined ? original.value : typed.result
  const wanted = expected === undefined ? true : fromWire(expected as Wire)
  return same(value, wanted) ? null : `${show(value)} instead of ${show(wanted)}`
}

function show(value: Value): string {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
  return `${typeName(value)} ${text}`
}

/** Equal and of one type; NaN is NaN. */
function same(a: Value, b: Value): boolean {
  if (typeName(a) !== typeName(b)) return false
  if (isDouble(a) && isDouble(b) && Number.isNaN(numberOf(a))) return Number.isNaN(numberOf(b))
  if (Array.isArray(a)) {
    const other = b as List
    return a.length === other.length && a.every((item, i) => same(item as Value, other[i]!))
  }
  return equal(a, b)
}

/** A value as cel.expr.Value is written in JSON. */
interface Wire {
  readonly boolValue?: boolean
  readonly int64Value?: string | number
  readonly uint64Value?: string | number
  readonly doubleValue?: number | string
  readonly stringValue?: string
  readonly bytesValue?: string
  readonly typeValue?: string
  readonly nullValue?: null
  readonly listValue?: { readonly values?: readonly Wire[] }
  readonly mapValue?: { readonly entries?: readonly { readonly key: Wire; readonly value: Wire }[] }
}

function fromWire(wire: Wire): Value {
  if (wire.boolValue !== undefined) return wire.boolValue
  if (wire.int64Value !== undefined) return intOf(BigInt(wire.int64Value))
  if (wire.uint64Value !== undefined) return new Uint(BigInt(wire.uint64Value))
  if (wire.doubleValue !== undefined) return doubleOf(Number(wire.doubleValue))
  if (wire.stringValue !== undefined) return wire.stringValue
  if (wire.bytesValue !== undefined) return new Uint8Array(Buffer.from(wire.bytesValue, 'base64'))
  if (wire.typeValue !== undefined) return new TypeValue(wire.typeValue)
  if (wire.nullValue !== undefined) return null
  if (wire.listValue !== undefined) return (wire.listValue.values ?? []).map(fromWire)
  if (wire.mapValue === undefined) throw new Error(`no value: ${JSON.stringify(wire)}`)
  const map = new MapBuilder()
  for (const { key, value } of wire.mapValue.entries ?? []) map.add(fromWire(key), fromWire(value))
  return map.done()
}

interface Named {
  readonly name: string
}

/** Every declared or bound name as a variable of any type. */
function rootsOf(original: Case['original']): Roots {
  const declared = ((original.typeEnv ?? []) as readonly (Named & { readonly ident?: unknown })[]).filter(
    (d) => 'ident' in d
  )
  const bound = Object.keys((original.bindings ?? {}) as object)
  return Object.fromEntries([...declared.map(({ name }) => name), ...bound].map((name) => [name, { type: 'dyn' }]))
}

function contextOf(original: Case['original']): object {
  const bindings = (original.bindings ?? {}) as Readonly<Record<string, { readonly value: Wire }>>
  return Object.fromEntries(Object.entries(bindings).map(([name, { value }]) => [name, fromWire(value)]))
}
