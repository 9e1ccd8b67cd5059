/** One page of a target's list, ready to be shown: its items as text, and where the names that clients know begin. */
import { itemsOf, type ListKind, renamed } from '#backends/mcp/lists/kinds.ts'
import type { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject, JsonValue, RpcFault, RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import { isUnreadable, readMessage } from '#backends/mcp/protocol/read-message.ts'
import { type Scanned, scanList } from './scan.ts'

/** How long a server wants to be believed, and by whom (2026-07-28, server/utilities/caching). */
export interface Hints {
  /** Milliseconds; 0: not at all. */
  readonly ttlMs: number
  readonly isPublic: boolean
}

export interface Page {
  /** No other page of the thread has it. */
  readonly serial: number
  /** Of the items, under the target's own names. */
  readonly names: readonly string[]
  /** Item i is json[starts[i]..ends[i]); between two is what stands between them in a list. */
  readonly json: Buffer
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** What clients see before each name, and where it goes in the JSON, by item; nothing, if it is in there. */
  readonly tag: Buffer
  readonly marks: readonly number[]
  /** The other members of the result as JSON, without hints for caches; "": none. */
  readonly others: string
  readonly nextCursor: string | null
  /** Null: the server has not said any. */
  readonly hints: Hints | null
  /** There is more to come of this answer before it is one (2026-07-28, ResultType). */
  readonly isComplete: boolean
}

const UI = 'ui://'

/** From an answer as it came. Null: it is no response that can be read. */
export function pageOf(bytes: Buffer, id: RpcId, target: string, kind: ListKind, names: Names): Page | RpcFault | null {
  const scanned = scanList(bytes, kind.key, kind.by)
  if (scanned !== null) {
    const page = pageOfScan(bytes, scanned, target, kind, names)
    if (page !== null) return page
  }
  const read = readMessage(bytes)
  if (isUnreadable(read) || 'method' in read || read.id !== id) return null
  return 'error' in read ? read : pageOfResult(read.result, target, kind, names)
}

/** From an answer that somebody has had to read. */
export function pageOfResult(result: JsonObject, target: string, kind: ListKind, names: Names): Page {
  const items = itemsOf(result, kind)
  const texts = items.map((item) => JSON.stringify(renamed(item, target, kind, names)))
  const { [kind.key]: _, ttlMs, cacheScope, ...others } = result
  const { nextCursor, resultType } = result
  const own = items.map((item) => item[kind.by] as string)
  return {
    ...pageOfTexts(own, texts),
    others: Object.keys(others).length === 0 ? '' : JSON.stringify(others).slice(1, -1),
    nextCursor: typeof nextCursor === 'string' ? nextCursor : null,
    hints: hintsOf(ttlMs, cacheScope),
    isComplete: resultType === undefined || resultType === 'complete'
  }
}

/** From the texts of items under the names that clients know; `names`: the target's own. The last page of a list. */
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
  const base = { serial: ++serials, names, json, starts, ends, marks: NO_MARKS, tag: NO_TAG }
  return { ...base, others: '', nextCursor: null, hints: null, isComplete: true }
}

/** Hints as a result has them. What is no whole number above zero is zero, and what is not public is private. */
export function hintsOf(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): Hints | null {
  if (ttlMs === undefined && cacheScope === undefined) return null
  const isTime = typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs > 0
  return { ttlMs: isTime ? ttlMs : 0, isPublic: cacheScope === 'public' }
}

/** Null: names cannot be changed without reading more. */
function pageOfScan(bytes: Buffer, scanned: Scanned, target: string, kind: ListKind, names: Names): Page | null {
  const { others, nextCursor, starts, ends } = scanned
  const isTagged = names.isTagged || (names.isPrefixed && kind.by === 'name')
  if (names.isTagged && scanned.hasMeta && maySayPlace(bytes)) return null
  const marks = isTagged ? marksOf(bytes, scanned, kind) : NO_MARKS
  if (marks === null) return null
  const resultType = jsonOf(scanned.resultType)
  return {
    serial: ++serials,
    names: scanned.names,
    json: bytes,
    starts,
    ends,
    marks,
    // What a tag of a target's name is in JSON text.
    tag: isTagged ? Buffer.from(JSON.stringify(tagOf(target, kind, names)).slice(1, -1)) : NO_TAG,
    others,
    nextCursor,
    hints: hintsOf(jsonOf(scanned.ttlMs), jsonOf(scanned.cacheScope)),
    isComplete: resultType === undefined || resultType === 'complete'
  }
}

/** It has been checked to be JSON. */
const jsonOf = (json: string | null): JsonValue | undefined =>
  json === null ? undefined : (JSON.parse(json) as JsonValue)

const tagOf = (target: string, { by }: ListKind, names: Names): string =>
  by === 'name' ? names.name(target, '') : names.taskId(target, '')

/** `_meta` of an item may name a page of an app, or a task (names.ts, outwardMeta). */
const maySayPlace = (bytes: Buffer): boolean =>
  bytes.includes('esourceUri"') || bytes.includes('related-task') || bytes.includes('\\u')

/** Where tags go. Null: not every place can be told from the bytes. */
function marksOf(bytes: Buffer, { marks, names }: Scanned, { by }: ListKind): readonly number[] | null {
  if (by !== 'uri' && by !== 'uriTemplate') return marks
  const moved: number[] = []
  for (let i = 0; i < marks.length; i++) {
    const mark = marks[i]!
    const isUi = names[i]!.startsWith(UI)
    // The authority of such a URI begins with the target: written so, its place is known.
    if (isUi && bytes.latin1Slice(mark, mark + UI.length) !== UI) return null
    moved.push(isUi ? mark + UI.length : mark)
  }
  return moved
}

// --- showing ---

/** Bytes of items `first` to `last` as they are shown. */
export function lengthOf({ starts, ends, tag }: Page, first: number, last: number): number {
  return ends[last]! - starts[first]! + tag.length * (last - first + 1)
}

/** Writes them, and what stands between them, to `out`. Returns where they end there. */
export function writeItems(
  { json, starts, ends, marks, tag }: Page,
  first: number,
  last: number,
  out: Buffer,
  to: number
) {
  let done = starts[first]!
  let at = to
  if (tag.length > 0) {
    for (let i = first; i <= last; i++) {
      at += json.copy(out, at, done, marks[i]!)
      at += tag.copy(out, at)
      done = marks[i]!
    }
  }
  return at + json.copy(out, at, done, ends[last]!)
}

/** The same page for keeping: with the tags in it, and nothing of the answer besides. */
export function settled(page: Page): Page {
  const { names, starts, ends, tag } = page
  const last = names.length - 1
  const json = last < 0 ? Buffer.alloc(0) : Buffer.allocUnsafeSlow(lengthOf(page, 0, last))
  if (last >= 0) writeItems(page, 0, last, json, 0)
  const from = starts[0] ?? 0
  return {
    ...page,
    json,
    starts: starts.map((start, i) => start - from + tag.length * i),
    ends: ends.map((end, i) => end - from + tag.length * (i + 1)),
    marks: NO_MARKS,
    tag: NO_TAG
  }
}

const NO_MARKS: readonly number[] = []
const NO_TAG = Buffer.alloc(0)
let serials = 0

/** Bytes that a page keeps, about. */
export function sizeOf({ json, names, others }: Page): number {
  let size = json.length + 2 * others.length + 512
  for (const name of names) size += 2 * name.length + 64
  return size
}
