/** A record as people and programs get it: names of columns, but cost as text, and times as people read them. */
import { decimalText, NANO_PLACES } from '#engine/kit/money.ts'
import { COLUMN_NAMES, type Column } from './record.ts'

type Value = string | number | bigint | null

export const RECORD_NAMES = COLUMN_NAMES.map((name) => (name === 'costNanos' ? 'cost' : name))

/** What was said: behind the columns, where it is asked for. */
export const CONTENT = 'content'

/** As a cell of a table. */
export function cellOf(name: Column, value: Value): Value {
  if (value === null) return null
  if (name === 'time') return new Date(Number(value)).toISOString()
  if (name === 'costNanos') return decimalText(value as number, NANO_PLACES)
  return value
}

/** Ahead of each value: `,"cost":`. */
const MEMBERS = [...RECORD_NAMES, CONTENT].map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)

/** Columns whose values are JSON already, and what stands for none of it. */
const JSON_COLUMNS: { readonly [name in Column]?: string } = { tags: '[]', guards: '[]' }

/** The text of recordOf: a tenth of the work, which a worker has for each call where there is a webhook. */
export function recordText(row: readonly (string | number | null)[]): string {
  let out = ''
  for (let i = 0; i < COLUMN_NAMES.length; i++) out += MEMBERS[i]! + memberText(COLUMN_NAMES[i]!, row[i]!)
  if (row.length > COLUMN_NAMES.length) out += MEMBERS[COLUMN_NAMES.length]! + String(row[COLUMN_NAMES.length])
  return `${out}}`
}

function memberText(name: Column, value: string | number | null): string {
  const none = JSON_COLUMNS[name]
  if (none !== undefined) return value === null ? none : String(value)
  if (name === 'streamed') return value === 1 ? 'true' : 'false'
  if (value === null) return 'null'
  if (name === 'time' || name === 'costNanos') return `"${String(cellOf(name, value))}"`
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
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
