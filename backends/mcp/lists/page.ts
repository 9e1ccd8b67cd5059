/** One page of a target's list: its items as JSON text, and where the prefixes that clients see go into it. */

import type { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject, JsonValue, RpcErrorResponse, RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, parseMessage } from '#backends/mcp/protocol/parse-message.ts'
import { itemsOf, type ListKind, renamedItem } from './kinds.ts'
import { type Scanned, scanList } from './scan.ts'
/** How long a list may be cached, and for whom (2026-07-28, server/utilities/caching). */
export interface CacheHints {
  /** Milliseconds; 0: not cacheable. */
  readonly ttlMs: number
  readonly isPublic: boolean
}

export interface Page {
  /** Unique in the thread. */
  readonly serial: number
  /** Of the items, under the target's own names. */
  readonly names: readonly string[]
  /** Item i is json[starts[i]..ends[i]), with the list's separators between items. */
  readonly json: Buffer
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** What clients see before each name, and where it goes in the JSON, by item; empty if the JSON has it already. */
  readonly prefix: Buffer
  readonly prefixOffsets: readonly number[]
  /** The other members of the result as JSON, without cache hints; "": none. */
  readonly otherMembers: string
  readonly nextCursor: string | null
  /** Null: the server has sent none. */
  readonly hints: CacheHints | null
  /** False: an interim result (2026-07-28, ResultType). */
  readonly isComplete: boolean
}

const UI = 'ui://'

/** From the bytes of a response. Null: they are no response. */
export function pageOf(
  bytes: Buffer,
  id: RpcId,
  target: string,
  kind: ListKind,
  names: Names
): Page | RpcErrorResponse | null {
  const scanned = scanList(bytes, kind.key, kind.by)
  if (scanned !== null) {
    const page = pageOfScan(bytes, scanned, target, kind, names)
    if (page !== null) return page
  }
  const read = parseMessage(bytes)
  if (isInvalid(read) || 'method' in read || read.id !== id) return null
  return 'error' in read ? read : pageOfResult(read.result, target, kind, names)
}

/** From a parsed result. */
export function pageOfResult(result: JsonObject, target: string, kind: ListKind, names: Names): Page {
  const items = itemsOf(result, kind)
  const texts = items.map((item) => JSON.stringify(renamedItem(item, target, kind, names)))
  const { [kind.key]: _, ttlMs, cacheScope, ...others } = result
  const { nextCursor, resultType } = result
  const own = items.map((item) => item[kind.by] as string)
  return {
    ...pageOfTexts(own, texts),
    otherMembers: Object.keys(others).length === 0 ? '' : JSON.stringify(others).slice(1, -1),
    nextCursor: typeof nextCursor === 'string' ? nextCursor : null,
    hints: hintsOf(ttlMs, cacheScope),
    isComplete: resultType === undefined || resultType === 'complete'
  }
}

/** From items as JSON under the names that clients know; `names`: the target's own. The last page of a list. */
export function pageOfTexts(names: readonly string[], texts: readonly string[]): Page {
  const starts: number[] = []
  const ends: number[] = []
  let at = 0
  for (const text of texts) {
    starts.push(at)
    at += Buffer.byteLength(text)
    ends.push(at++)
  }
  const json = Buffer.from(texts.join(','))
  const base = { serial: ++serials, names, json, starts, ends, prefixOffsets: NO_OFFSETS, prefix: NO_PREFIX }
  return { ...base, otherMembers: '', nextCursor: null, hints: null, isComplete: true }
}

/** From members of a result. A TTL that is no positive integer is 0; a scope other than public is private. */
export function hintsOf(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): CacheHints | null {
  if (ttlMs === undefined && cacheScope === undefined) return null
  const isTime = typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs > 0
  return { ttlMs: isTime ? ttlMs : 0, isPublic: cacheScope === 'public' }
}

/** Null: names cannot be changed without parsing more. */
function pageOfScan(bytes: Buffer, scanned: Scanned, target: string, kind: ListKind, names: Names): Page | null {
  const { otherMembers, nextCursor, starts, ends } = scanned
  const hasPrefix = names.isMultiplexed || (names.isPrefixed && kind.by === 'name')
  if (names.isMultiplexed && scanned.hasMeta && mayContainNames(bytes)) return null
  const prefixOffsets = hasPrefix ? prefixOffsetsOf(bytes, scanned, kind) : NO_OFFSETS
  if (prefixOffsets === null) return null
  const resultType = jsonOf(scanned.resultType)
  return {
    serial: ++serials,
    names: scanned.names,
    json: bytes,
    starts,
    ends,
    prefixOffsets,
    // As it is written in a JSON string.
    prefix: hasPrefix ? Buffer.from(JSON.stringify(prefixOf(target, kind, names)).slice(1, -1)) : NO_PREFIX,
    otherMembers,
    nextCursor,
    hints: hintsOf(jsonOf(scanned.ttlMs), jsonOf(scanned.cacheScope)),
    isComplete: resultType === undefined || resultType === 'complete'
  }
}

/** Scanned text is valid JSON. */
const jsonOf = (json: string | null): JsonValue | undefined =>
  json === null ? undefined : (JSON.parse(json) as JsonValue)

const prefixOf = (target: string, { by }: ListKind, names: Names): string =>
  by === 'name' ? names.name(target, '') : names.taskId(target, '')

/** `_meta` of an item may name a page of an app, or a task (names.ts, metaForClient). */
const mayContainNames = (bytes: Buffer): boolean =>
  bytes.includes('esourceUri"') || bytes.includes('related-task') || bytes.includes('\\u')

/** Where prefixes go. Null: the bytes do not tell that of every item. */
function prefixOffsetsOf(bytes: Buffer, { nameOffsets, names }: Scanned, { by }: ListKind): readonly number[] | null {
  if (by !== 'uri' && by !== 'uriTemplate') return nameOffsets
  const moved: number[] = []
  for (let i = 0; i < nameOffsets.length; i++) {
    const mark = nameOffsets[i]!
    const isUi = names[i]!.startsWith(UI)
    // The prefix goes before the authority of such a URI, whose offset is only known if nothing is escaped.
    if (isUi && bytes.latin1Slice(mark, mark + UI.length) !== UI) return null
    moved.push(isUi ? mark + UI.length : mark)
  }
  return moved
}

// --- writing ---

/** Bytes of items `first` to `last` with prefixes. */
export function lengthOf({ starts, ends, prefix }: Page, first: number, last: number): number {
  return ends[last]! - starts[first]! + prefix.length * (last - first + 1)
}

/** Writes them, with the separators between them, to `out` at `to`. Returns where they end. */
export function writeItems(
  { json, starts, ends, prefixOffsets, prefix }: Page,
  first: number,
  last: number,
  out: Buffer,
  to: number
) {
  let done = starts[first]!
  let at = to
  if (prefix.length > 0) {
    for (let i = first; i <= last; i++) {
      at += json.copy(out, at, done, prefixOffsets[i]!)
      at += prefix.copy(out, at)
      done = prefixOffsets[i]!
    }
  }
  return at + json.copy(out, at, done, ends[last]!)
}

/** The page for the cache: prefixes written in, detached from the response's buffer. */
export function detached(page: Page): Page {
  const { names, starts, ends, prefix } = page
  const last = names.length - 1
  const json = last < 0 ? Buffer.alloc(0) : Buffer.allocUnsafeSlow(lengthOf(page, 0, last))
  if (last >= 0) writeItems(page, 0, last, json, 0)
  const from = starts[0] ?? 0
  return {
    ...page,
    json,
    starts: starts.map((start, i) => start - from + prefix.length * i),
    ends: ends.map((end, i) => end - from + prefix.length * (i + 1)),
    prefixOffsets: NO_OFFSETS,
    prefix: NO_PREFIX
  }
}

const NO_OFFSETS: readonly number[] = []
const NO_PREFIX = Buffer.alloc(0)
let serials = 0

/** Bytes that a page retains, roughly. */
export function sizeOf({ json, names, otherMembers }: Page): number {
  let size = json.length + 2 * otherMembers.length + 512
  for (const name of names) size += 2 * name.length + 64
  return size
}
