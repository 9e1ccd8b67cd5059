/**
 * One call of a model, as the spend log keeps it: the columns, in the order in which workers send them. The page for
 * users (docs/spend.md) has the same table.
 */
import { detailOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { guardVerdicts } from '#engine/contract/guard-verdicts.ts'
import type { Claims } from '#engine/contract/identity.ts'
import type { KeptContent } from '#engine/contract/kept-content.ts'
import {
  type CostBasis,
  firstTokenMs,
  isFromCache,
  type ModelUse,
  refusedModel,
  totalBasis,
  totalCost
} from '#engine/contract/model-use.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import { SIDE_PURPOSE } from '#engine/contract/side-call.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import { nanosOfPicos, type Picos } from '#engine/kit/money.ts'

/** Columns and what SQLite has them as. Times are milliseconds since 1970, durations milliseconds. */
export const COLUMNS = {
  id: 'TEXT NOT NULL',
  time: 'INTEGER NOT NULL',
  key: 'TEXT',
  keyName: 'TEXT',
  owner: 'TEXT',
  team: 'TEXT',
  organisation: 'TEXT',
  tags: 'TEXT',
  subject: 'TEXT',
  operation: 'TEXT',
  clientModel: 'TEXT',
  requestModel: 'TEXT',
  model: 'TEXT',
  provider: 'TEXT',
  backend: 'TEXT',
  route: 'TEXT',
  status: 'INTEGER NOT NULL',
  errorType: 'TEXT',
  detail: 'TEXT',
  cache: 'TEXT',
  guards: 'TEXT',
  streamed: 'INTEGER NOT NULL',
  retries: 'INTEGER NOT NULL',
  uncachedInputTokens: 'INTEGER',
  cacheReadTokens: 'INTEGER',
  cacheWriteTokens: 'INTEGER',
  outputTokens: 'INTEGER',
  reasoningTokens: 'INTEGER',
  inputAudioTokens: 'INTEGER',
  outputAudioTokens: 'INTEGER',
  inputImageTokens: 'INTEGER',
  outputImageTokens: 'INTEGER',
  costNanos: 'INTEGER',
  currency: 'TEXT NOT NULL',
  costBasis: 'TEXT',
  costUnknown: 'TEXT',
  serviceTier: 'TEXT',
  firstTokenMs: 'INTEGER',
  durationMs: 'INTEGER NOT NULL',
  traceId: 'TEXT',
  purpose: 'TEXT',
  cacheReadAudioTokens: 'INTEGER',
  cacheReadImageTokens: 'INTEGER',
  seconds: 'INTEGER',
  pictures: 'INTEGER',
  searches: 'INTEGER',
  continuations: 'INTEGER'
} as const satisfies Record<string, string>

export type Column = keyof typeof COLUMNS
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly Column[]

/**
 * Values in the order of COLUMNS; what is not known is null. One more is what was said, as the JSON of KeptContent,
 * where that is kept.
 */
export type Row = readonly (string | number | null)[]

export const withContent = (row: Row, content: KeptContent): Row => [...row, JSON.stringify(content)]

/** Characters of it: the rest of a row is small. */
export function contentChars(row: Row): number {
  const content = row[COLUMN_NAMES.length]
  return typeof content === 'string' ? content.length : 0
}

/** The row with a note that what was said had no room. */
export function withoutContent(row: Row): Row {
  return contentChars(row) === 0 ? row : withContent(row.slice(0, COLUMN_NAMES.length), NO_ROOM)
}

const NO_ROOM: KeptContent = { prompt: [], answer: [], toolCalls: [], isCut: true }

/** Clients choose names of models and subjects of tokens, so there is an end to each text. */
const CHARS_MAX = 256
const DETAIL_CHARS_MAX = 512
const TAGS_MAX = 32

/** What stands in place of a cost that is not there, where nobody has said why. */
const NO_PRICE = 'no price is in use for this call'
const FAILED = 'it failed before the provider had told what it has counted'

/** Of an exchange that was refused before a provider was chosen. */
const NO_USE: ModelUse = {}

export interface Facts {
  readonly route: string
  /** Of the exchange. */
  readonly status: number
  readonly durationMs: number
  /** Milliseconds since 1970, now. */
  readonly now: number
  readonly currency: string
}

/** The record of `ex`, which has asked a model (ex.llm), or would have, and is over. */
export function rowOf(ex: Exchange, { route, status, durationMs, now, currency }: Facts): Row {
  const llm = ex.llm ?? NO_USE
  const apiKey = ex.identity?.apiKey ?? null
  const requestModel = text(llm.requestModel)
  const { cost, basis, unknown } = costOf(ex, llm)
  const first = firstTokenMs(llm, ex.startedAt)
  const hasFailed = status >= 400 || ex.error !== null
  return [
    requestIdOf(ex),
    Math.round(now - durationMs),
    claim(apiKey, 'id'),
    claim(apiKey, 'name'),
    claim(apiKey, 'owner'),
    claim(apiKey, 'team'),
    claim(apiKey, 'organisation'),
    tagsOf(apiKey),
    claim(ex.identity?.jwt ?? null, 'sub') ?? claim(ex.identity?.basicAuth ?? null, 'username'),
    text(llm.operation),
    text(llm.clientModel ?? refusedModel(ex)),
    requestModel,
    // A name that no provider has answered to is the client's own: it stays out of the sums.
    text(llm.responseModel) ?? (hasFailed ? null : requestModel),
    text(llm.provider),
    text(ex.backend),
    route,
    status,
    text(llm.errorType ?? ex.error ?? (status >= 400 ? String(status) : undefined)),
    ex.error === null ? null : text(detailOf(ex), DETAIL_CHARS_MAX),
    llm.cache ?? null,
    guardsOf(ex),
    llm.streaming === true ? 1 : 0,
    Math.max(ex.attempts - 1, 0),
    uncached(llm),
    llm.cachedInputTokens ?? null,
    llm.cacheCreationInputTokens ?? null,
    llm.outputTokens ?? null,
    llm.reasoningTokens ?? null,
    llm.inputAudioTokens ?? null,
    llm.outputAudioTokens ?? null,
    llm.inputImageTokens ?? null,
    llm.outputImageTokens ?? null,
    cost === undefined ? null : nanosOfPicos(cost),
    currency,
    basis,
    unknown,
    text(llm.serviceTier),
    first === undefined ? null : Math.round(first),
    Math.round(durationMs),
    ex.slots === null ? null : (TRACE.get(ex)?.traceId ?? null),
    ex.slots === null ? null : SIDE_PURPOSE.get(ex),
    llm.cachedAudioTokens ?? null,
    llm.cachedImageTokens ?? null,
    whole(llm.seconds),
    whole(llm.pictures),
    whole(llm.searches),
    llm.continuations ?? null
  ]
}

interface Cost {
  readonly cost: Picos | undefined
  readonly basis: CostBasis | 'cache' | 'none' | null
  readonly unknown: string | null
}

/** Of all attempts. */
function costOf(ex: Exchange, llm: ModelUse): Cost {
  const cost = totalCost(llm)
  if (isFromCache(llm.cache)) return { cost: 0, basis: 'cache', unknown: null }
  if (cost !== undefined) return { cost, basis: totalBasis(llm) ?? null, unknown: text(llm.costUnknown) }
  // Nobody was sent anything.
  if (ex.attempts === 0) return { cost: 0, basis: 'none', unknown: null }
  return { cost, basis: null, unknown: text(llm.costUnknown ?? (ex.error === null ? NO_PRICE : FAILED)) }
}

function guardsOf(ex: Exchange): string | null {
  const verdicts = guardVerdicts(ex)
  return verdicts === null ? null : JSON.stringify(verdicts)
}

function uncached({ inputTokens, cachedInputTokens = 0, cacheCreationInputTokens = 0 }: ModelUse): number | null {
  // A provider that counts otherwise must not make a number below nothing.
  return inputTokens === undefined ? null : Math.max(inputTokens - cachedInputTokens - cacheCreationInputTokens, 0)
}

/** Of one call: what is more is no count. */
const UNITS_MAX = 1_000_000_000

/** Providers say some of them: one that is no count must not keep the records beside it from the file. */
function whole(count: number | undefined): number | null {
  return count === undefined || !(count > 0) ? null : Math.min(Math.ceil(count), UNITS_MAX)
}

function text(value: string | null | undefined, max = CHARS_MAX): string | null {
  if (value === undefined || value === null || value === '') return null
  return value.length > max ? value.slice(0, max) : value
}

/** Metadata of keys is the configuration's: any JSON. */
function claim(claims: Claims | null, name: string): string | null {
  const value = claims === null || !Object.hasOwn(claims, name) ? undefined : claims[name]
  if (typeof value === 'string') return text(value)
  return typeof value === 'number' ? String(value) : null
}

function tagsOf(claims: Claims | null): string | null {
  const tags = claims === null || !Object.hasOwn(claims, 'tags') ? undefined : claims.tags
  if (!Array.isArray(tags) || tags.length === 0) return null
  const texts = tags.filter((tag): tag is string => typeof tag === 'string')
  return JSON.stringify(texts.slice(0, TAGS_MAX).map((tag) => tag.slice(0, CHARS_MAX)))
}
