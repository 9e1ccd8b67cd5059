/** What is kept, as records of bounded work: 5,000 routes at once would hold the thread for 0.1 s. */
import type { Backend, RouteSpec } from '#engine/ir/snapshot.ts'
import type { ServiceEndpoint } from '#engine/kubernetes/endpoints/index.ts'
import type { Held } from './received.ts'
import { encodeRecord, RecordReader } from './records.ts'

/** Routes, backends or Services in one record. */
const ENTRIES_MAX = 100

/** What comes behind the first record, which is all of it without these. */
interface Part {
  readonly routes?: { readonly bind: number; readonly listener: number; readonly list: readonly RouteSpec[] }
  readonly backends?: Readonly<Record<string, Backend>>
  readonly endpoints?: Readonly<Record<string, readonly ServiceEndpoint[]>>
}

export function* heldRecords(held: Held): Iterable<Buffer> {
  const { draft, endpoints } = held
  const parts: Part[] = []
  const binds = draft.binds.map((one, bind) => ({
    ...one,
    listeners: one.listeners.map((own, listener) => {
      for (const list of chunksOf(own.routes)) parts.push({ routes: { bind, listener, list } })
      return { ...own, routes: [] }
    })
  }))
  for (const some of chunksOf(Object.entries(draft.backends))) parts.push({ backends: Object.fromEntries(some) })
  for (const some of chunksOf(Object.entries(endpoints))) parts.push({ endpoints: Object.fromEntries(some) })
  const first: Held = { ...held, draft: { ...draft, binds, backends: {} }, endpoints: {} }
  yield encodeRecord(first)
  for (const part of parts) yield encodeRecord(part)
}

/** Throws a RecordError, or what shows that these are no such records. */
export function heldOf(bytes: Buffer): Held {
  const values: unknown[] = []
  new RecordReader(bytes.length, (value) => values.push(value)).push(bytes)
  const [held, ...parts] = values as [Held, ...Part[]]
  const endpoints: Record<string, readonly ServiceEndpoint[]> = { ...held.endpoints }
  const backends: Record<string, Backend> = { ...held.draft.backends }
  const lists = held.draft.binds.map(({ listeners }) => listeners.map((): RouteSpec[] => []))
  for (const part of parts) {
    if (part.routes !== undefined) lists[part.routes.bind]![part.routes.listener]!.push(...part.routes.list)
    Object.assign(backends, part.backends)
    Object.assign(endpoints, part.endpoints)
  }
  const binds = held.draft.binds.map((bind, i) => ({
    ...bind,
    listeners: bind.listeners.map((own, k) => ({ ...own, routes: lists[i]![k]! }))
  }))
  return { ...held, draft: { ...held.draft, binds, backends }, endpoints }
}

function* chunksOf<T>(list: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < list.length; at += ENTRIES_MAX) yield list.slice(at, at + ENTRIES_MAX)
}
