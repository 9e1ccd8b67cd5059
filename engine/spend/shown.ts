/** A record as people and programs get it: names of columns, but cost as text, and times as people read them. */
import { decimalText, NANO_PLACES } from '#engine/kit/money.ts'
import { COLUMN_NAMES, type Column } from './record.ts'

type Value = string | number | bigint | null

export const RECORD_NAMES = COLUMN_NAMES.map((name) => (name === 'costNanos' ? 'cost' : name))

/** As a cell of a table. */
export function cellOf(name: Column, value: Value): Value {
  if (value === null) return null
  if (name === 'time') return new Date(Number(value)).toISOString()
  if (name === 'costNanos') return decimalText(value as number, NANO_PLACES)
  return value
}

/** As JSON. */
export function recordOf(value: (name: Column, place: number) => Value): Readonly<Record<string, unknown>> {
  const out: Record<string, unknown> = {}
  for (const [i, name] of COLUMN_NAMES.entries()) out[RECORD_NAMES[i]!] = cellOf(name, value(name, i))
  out.tags = out.tags === null ? [] : JSON.parse(out.tags as string)
  out.guards = out.guards === null ? [] : JSON.parse(out.guards as string)
  out.streamed = out.streamed === 1
  return out
}
