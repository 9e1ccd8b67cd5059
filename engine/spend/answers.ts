/** Answers of the spend log: from plain queries to the text of a reply. Runs where the file is. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { decimalText, NANO_PLACES } from '#engine/kit/money.ts'
import { type Cell, csvOf } from './csv.ts'
import type { Filters, Group, RecordsQuery, SpendQuery, SumsQuery } from './query.ts'
import { COLUMN_NAMES } from './record.ts'
import { CONTENT, cellOf, RECORD_NAMES, recordOf } from './shown.ts'
import { HOUR_MS } from './store.ts'
import { MEASURES } from './tables.ts'

export interface SpendReply {
  readonly body: string
  readonly type: string
  /** `next` of a page, for what has no place in the body. */
  readonly next: string | null
}

/** `keepsPrompts`: records of now have what was said; those of before may. */
export function answerQuery(database: DatabaseSync, query: SpendQuery, keepsPrompts = false): SpendReply {
  return query.kind === 'sums' ? answerSums(database, query) : answerRecords(database, query, keepsPrompts)
}

// --- sums ---

/** What groups are in SQL, and how they are shown. Hours are counted since 1970, in UTC. */
const GROUPS: { readonly [group in Group]: readonly [sql: string, show: (value: SQLOutputValue) => string | null] } = {
  key: ['"key"', shown],
  team: ['"team"', shown],
  organisation: ['"organisation"', shown],
  model: ['"model"', shown],
  provider: ['"provider"', shown],
  purpose: ['"purpose"', shown],
  hour: ['hour', (hour) => instantOf(hour, HOUR_MS).replace('.000', '')],
  day: ['hour / 24', (day) => instantOf(day, 24 * HOUR_MS).slice(0, 10)],
  month: ["strftime('%Y-%m', hour * 3600, 'unixepoch')", shown]
}

const instantOf = (count: SQLOutputValue, unitMs: number) => new Date(Number(count) * unitMs).toISOString()

/** In the order of the answer. Money is a text, since floats lose cents. */
const SHOWN = [...MEASURES.filter((name) => name !== 'costNanos'), 'cost', 'currency'] as const

function answerSums(database: DatabaseSync, query: SumsQuery): SpendReply {
  // Sums are kept by the hour: those that the ends of the time lie in are taken whole.
  const [first, end] = [Math.floor(query.from / HOUR_MS), Math.ceil(query.to / HOUR_MS)]
  const { where, values } = conditions(query.filters, '')
  const groups = query.groupBy.map((group) => GROUPS[group][0])
  const measures = MEASURES.map((name) => `SUM("${name}") AS "${name}"`)
  const statement = database.prepare(`
    SELECT ${[...groups.map((sql, i) => `${sql} AS g${i}`), 'currency', ...measures].join(', ')}
    FROM hours WHERE hour >= ? AND hour < ?${where}
    GROUP BY ${[...groups.map((_, i) => `g${i}`), 'currency'].join(', ')}
    ORDER BY ${['costNanos DESC', 'calls DESC', ...groups.map((_, i) => `g${i}`)].join(', ')} LIMIT ?
  `)
  statement.setReadBigInts(true)
  const found = statement.all(first, end, ...values, query.limit + 1)
  const sums = found.slice(0, query.limit).map((row) => sumOf(row, query.groupBy))
  if (query.format === 'csv') {
    const names = [...query.groupBy, ...SHOWN]
    return {
      type: CSV,
      next: null,
      body: csvOf(
        names,
        sums.map((sum) => names.map((name) => sum[name]!))
      )
    }
  }
  const [from, to] = [first, end].map((hour) => instantOf(hour, HOUR_MS))
  return { type: JSON_TYPE, next: null, body: json({ from, to, isComplete: found.length <= query.limit, sums }) }
}

function sumOf(row: Readonly<Record<string, SQLOutputValue>>, groupBy: readonly Group[]): Record<string, Cell> {
  const out: Record<string, Cell> = {}
  for (const [i, group] of groupBy.entries()) out[group] = GROUPS[group][1](row[`g${i}`]!)
  for (const name of MEASURES) if (name !== 'costNanos') out[name] = Number(row[name])
  out.cost = decimalText(row.costNanos as bigint, NANO_PLACES)
  out.currency = row.currency as string
  return out
}

// --- records ---

/** Looked at for one page: some 40 ms where hardly any of them is one that is asked for. */
const SCANNED_MAX = 50_000

function answerRecords(database: DatabaseSync, query: RecordsQuery, keepsPrompts: boolean): SpendReply {
  const { filters, from, to, before, limit, format, hasContent } = query
  const { key = [], id = [], ...rest } = filters
  // What an index finds bounds the search; the rest is looked for among what it bounds.
  const isOneKey = key.length === 1 && key[0] !== ''
  const narrow = conditions({ ...(isOneKey ? { key } : {}), ...(id.length > 0 ? { id } : {}) }, null)
  const wide = conditions({ ...(isOneKey || key.length === 0 ? {} : { key }), ...rest }, null)
  const page = before === null ? '' : ' AND (time, seq) < (?, ?)'
  const bounds = `FROM records WHERE time >= ? AND time < ?${page}${narrow.where} ORDER BY time DESC, seq DESC`
  const values = [from, to, ...(before === null ? [] : [before.time, before.seq]), ...narrow.values]
  const found = database
    .prepare(`SELECT * FROM (SELECT * ${bounds} LIMIT ${SCANNED_MAX}) WHERE TRUE${wide.where} LIMIT ?`)
    .all(...values, ...wide.values, limit + 1)
  const rows = found.slice(0, limit)
  const lastLooked = () =>
    database.prepare(`SELECT time, seq ${bounds} LIMIT 1 OFFSET ${SCANNED_MAX - 1}`).get(...values)
  // A page that is not full may be the end of the search, and not that of the records.
  const last = found.length > limit ? rows.at(-1) : lastLooked()
  const next = last === undefined ? null : `${last.time}-${last.seq}`
  const contents = hasContent ? contentsOf(database, rows) : null
  if (format === 'csv') {
    const cells = rows.map((row) => [
      ...COLUMN_NAMES.map((name) => cellOf(name, row[name] as Cell)),
      ...(contents === null ? [] : [contents(row)])
    ])
    return { type: CSV, next, body: csvOf(contents === null ? RECORD_NAMES : [...RECORD_NAMES, CONTENT], cells) }
  }
  const records = rows.map((row) => {
    const record = recordOf((name) => row[name] as Cell)
    return contents === null ? record : { ...record, [CONTENT]: JSON.parse(contents(row) ?? 'null') as unknown }
  })
  return { type: JSON_TYPE, next, body: json({ keepsPrompts, records, next }) }
}

type Found = Readonly<Record<string, SQLOutputValue>>

/** JSON of what was said in the call of one of these records; null: it is not kept. */
function contentsOf(database: DatabaseSync, rows: readonly Found[]): (row: Found) => string | null {
  const find = database.prepare('SELECT content FROM contents WHERE seq = ?')
  const found = new Map(rows.map(({ seq }) => [seq, find.get(seq!)?.content]))
  return ({ seq }) => (found.get(seq!) as string | undefined) ?? null
}

// --- both ---

const CSV = 'text/csv; charset=utf-8'
const JSON_TYPE = 'application/json'
const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

function shown(value: SQLOutputValue): string | null {
  return value === '' ? null : (value as string)
}

/** Names are those that the query's reader knows; values are bound. `none`: what '' stands for in the table. */
function conditions(filters: Filters, none: '' | null): { readonly where: string; readonly values: SQLInputValue[] } {
  let where = ''
  const values: SQLInputValue[] = []
  for (const [name, wanted] of Object.entries(filters)) {
    const texts = none === null ? wanted.filter((value) => value !== '') : wanted
    const options = [
      ...(texts.length === 0 ? [] : [`"${name}" IN (${texts.map(() => '?').join(', ')})`]),
      ...(texts.length < wanted.length ? [`"${name}" IS NULL`] : [])
    ]
    where += ` AND (${options.join(' OR ')})`
    values.push(...texts)
  }
  return { where, values }
}
