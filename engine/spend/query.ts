/** Queries of the spend log: parameters of a URL as plain data, or what is wrong with one of them, by its name. */
import type { Column } from './record.ts'

/** What sums can be told apart by. */
export const GROUPS = [
  ...(['key', 'team', 'organisation', 'model', 'provider', 'purpose'] as const),
  ...(['hour', 'day', 'month'] as const)
] as const
export type Group = (typeof GROUPS)[number]

/** What both sums and records can be narrowed to. */
export const SUM_FILTERS = ['key', 'team', 'organisation', 'model', 'provider', 'purpose'] as const
/** What only records have. */
export const RECORD_FILTERS = [
  ...SUM_FILTERS,
  ...(['id', 'owner', 'subject', 'clientModel', 'requestModel', 'backend', 'route'] as const),
  ...(['status', 'errorType', 'cache', 'costBasis', 'traceId'] as const)
] as const satisfies readonly Column[]

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
/** Values of one filter. */
const VALUES_MAX = 64
const VALUE_CHARS_MAX = 256
const SUMS_MAX = 10_000
const RECORDS_MAX = 1_000
const DEFAULT_SUMS = 1_000
const DEFAULT_RECORDS = 100
const PROMPTS_MAX = 100
const DEFAULT_PROMPTS = 20

/** Values by column: any of them. '' stands for records that have none. */
export type Filters = Readonly<Record<string, readonly string[]>>

interface Common {
  /** Milliseconds since 1970: from on, and below. */
  readonly from: number
  readonly to: number
  readonly filters: Filters
  readonly limit: number
  readonly format: 'json' | 'csv'
}

export interface SumsQuery extends Common {
  readonly kind: 'sums'
  readonly groupBy: readonly Group[]
}

export interface RecordsQuery extends Common {
  readonly kind: 'records'
  /** With what was said. */
  readonly hasContent: boolean
  /** The last record of the page before; null: from the newest on. */
  readonly before: { readonly time: number; readonly seq: number } | null
}

export type SpendQuery = SumsQuery | RecordsQuery

/** A parameter that cannot be used. */
export class QueryError extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** How the answer is to be written, beside what the URL says. */
interface QueryInput {
  readonly params: URLSearchParams
  /** Milliseconds since 1970. */
  readonly now: number
  /** The Accept header. */
  readonly accept: string
}

/** Throws QueryError. */
export function readSumsQuery(input: QueryInput): SumsQuery {
  const { params } = input
  known(params, ['groupBy', ...SUM_FILTERS])
  const groups = one(params, 'groupBy')?.split(',') ?? []
  for (const group of groups) {
    if (!GROUPS.some((name) => name === group))
      throw new QueryError('groupBy', `must be a list of ${GROUPS.join(', ')}`)
  }
  if (new Set(groups).size < groups.length) throw new QueryError('groupBy', 'has one of its names twice')
  const common = readCommon(input, SUM_FILTERS, DEFAULT_SUMS, SUMS_MAX)
  return { kind: 'sums', groupBy: groups as Group[], ...common }
}

/** Throws QueryError. */
export const readRecordsQuery = (input: QueryInput): RecordsQuery => recordsQuery(input, false)

/** As readRecordsQuery, for those who may see prompts. A page is smaller: its records are not. */
export const readPromptsQuery = (input: QueryInput): RecordsQuery => recordsQuery(input, true)

function recordsQuery(input: QueryInput, hasContent: boolean): RecordsQuery {
  const { params } = input
  known(params, ['cursor', ...RECORD_FILTERS])
  const cursor = one(params, 'cursor')
  const match = cursor === null ? null : /^(\d{1,15})-(\d{1,15})$/.exec(cursor)
  if (cursor !== null && match === null) throw new QueryError('cursor', 'must be `next` of the page before')
  const before = match === null ? null : { time: Number(match[1]), seq: Number(match[2]) }
  const [usual, max] = hasContent ? [DEFAULT_PROMPTS, PROMPTS_MAX] : [DEFAULT_RECORDS, RECORDS_MAX]
  const common = readCommon(input, RECORD_FILTERS, usual, max)
  for (const status of common.filters.status ?? []) {
    if (!/^\d{3}$/.test(status)) throw new QueryError('status', 'must be a status of HTTP, such as 429')
  }
  return { kind: 'records', hasContent, before, ...common }
}

function readCommon({ params, now, accept }: QueryInput, names: readonly string[], usual: number, max: number): Common {
  const to = instant(params, 'to') ?? now
  const from = instant(params, 'from') ?? Math.max(to - DEFAULT_DAYS * DAY_MS, 0)
  if (from >= to) throw new QueryError('from', 'must be before `to`, which is now by default')
  return {
    from,
    to,
    filters: readFilters(params, names),
    limit: limitOf(params, usual, max),
    format: formatOf(params, accept)
  }
}

function known(params: URLSearchParams, own: readonly string[]): void {
  const all = [...own, 'from', 'to', 'limit', 'format']
  for (const name of params.keys()) {
    if (!all.includes(name))
      throw new QueryError(name.slice(0, 64), `there is no such parameter; there are ${all.join(', ')}`)
  }
}

function one(params: URLSearchParams, name: string): string | null {
  const values = params.getAll(name)
  if (values.length > 1) throw new QueryError(name, 'must be said once')
  return values[0] ?? null
}

/** A day (UTC), or an instant with its zone: other forms would mean another time on another machine. */
const INSTANT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

function instant(params: URLSearchParams, name: string): number | null {
  const text = one(params, name)
  if (text === null) return null
  const at = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at < 0) {
    throw new QueryError(name, 'must be a day (2026-05-31, UTC) or an instant with its zone (2026-05-31T08:00:00Z)')
  }
  return at
}

function readFilters(params: URLSearchParams, names: readonly string[]): Filters {
  const filters: Record<string, readonly string[]> = {}
  for (const name of names) {
    const values = params.getAll(name)
    if (values.length > VALUES_MAX) throw new QueryError(name, `must have at most ${VALUES_MAX} values`)
    if (values.some(({ length }) => length > VALUE_CHARS_MAX))
      throw new QueryError(name, `must have at most ${VALUE_CHARS_MAX} characters`)
    if (values.length > 0) filters[name] = values
  }
  return filters
}

function limitOf(params: URLSearchParams, usual: number, max: number): number {
  const text = one(params, 'limit')
  if (text === null) return usual
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > max) throw new QueryError('limit', `must be a whole number from 1 to ${max}`)
  return limit
}

function formatOf(params: URLSearchParams, accept: string): Common['format'] {
  const format = one(params, 'format')
  if (format === 'json' || format === 'csv') return format
  if (format !== null) throw new QueryError('format', 'must be json or csv')
  return /\btext\/csv\b/i.test(accept) ? 'csv' : 'json'
}
