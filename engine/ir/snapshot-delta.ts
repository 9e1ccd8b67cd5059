/** Snapshots on their way to somebody who has another one: what is the same object in both does not travel. */
import { Alignment } from '#engine/kit/alignment.ts'
import { share } from './share.ts'
import type { Backend, Bind, Listener, RouteSpec, Snapshot } from './snapshot.ts'

/** What changes from one Snapshot to the next, whatever else is known of it (version, hash). */
type Content = Pick<Snapshot, 'binds' | 'backends'>

export type SnapshotDelta<T extends Content = Snapshot> = Omit<T, 'binds' | 'backends'> & {
  readonly binds: readonly (Omit<Bind, 'listeners'> & { readonly listeners: readonly ListenerDelta[] })[]
  /** Those that are new or others than before. */
  readonly backends: Readonly<Record<string, Backend>>
  /** Names of those that are gone. */
  readonly goneBackends: readonly string[]
}

type ListenerDelta = Omit<Listener, 'routes'> & { readonly routes: readonly (RouteSpec | RouteRun)[] }

/** Routes that follow each other as they did before: the first, by its place among all routes, and how many. */
type RouteRun = readonly [from: number, count: number]

/** `previous`: what the receiver got last; parts of `snapshot` that are the same objects are not sent. */
export function encodeDelta<T extends Content>(previous: T | null, snapshot: T): SnapshotDelta<T> {
  const held = new Map(heldRoutes(previous).map((one) => [one.key, one]))
  const binds = snapshot.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => {
      const { from, routes } = held.get(keyOf(bind, listener)) ?? { from: 0, routes: [] }
      return { ...listener, routes: encodeRoutes(routes, from, listener.routes) }
    })
  }))
  return { ...snapshot, binds, ...changesOf(previous?.backends ?? {}, snapshot.backends) }
}

function changesOf(before: Content['backends'], after: Content['backends']) {
  const backends: Record<string, Backend> = {}
  const goneBackends: string[] = []
  if (before !== after) {
    for (const [name, backend] of Object.entries(after)) {
      if (!Object.hasOwn(before, name) || before[name] !== backend) backends[name] = backend
    }
    for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) goneBackends.push(name)
  }
  return { backends, goneBackends }
}

const keyOf = ({ port }: Pick<Bind, 'port'>, { name }: Pick<Listener, 'name'>): string => `${port} ${name}`

/** Of all listeners in their order. */
function heldRoutes(snapshot: Content | null): readonly HeldRoutes[] {
  let from = 0
  return (snapshot?.binds ?? []).flatMap((bind) =>
    bind.listeners.map((listener) => {
      const held = { key: keyOf(bind, listener), from, routes: listener.routes }
      from += listener.routes.length
      return held
    })
  )
}

/** `from`: the place of the first of `before` among all routes. */
function encodeRoutes(
  before: readonly RouteSpec[],
  from: number,
  routes: readonly RouteSpec[]
): (RouteSpec | RouteRun)[] {
  const found: (RouteSpec | [number, number])[] = []
  const alignment = new Alignment(before, routes)
  const { start, end } = alignment
  addRun(found, from, start)
  for (let i = start; i < routes.length - end; i++) {
    const place = alignment.placeOf(i)
    if (place < 0) found.push(routes[i]!)
    else addRun(found, from + place, 1)
  }
  addRun(found, from + before.length - end, end)
  return found
}

/** A run that goes on where the one before ends is one with it. */
function addRun(found: (RouteSpec | [number, number])[], from: number, count: number): void {
  if (count === 0) return
  const last = found.at(-1)
  if (Array.isArray(last) && last[0] + last[1] === from) last[1] += count
  else found.push([from, count])
}

/**
 * Restores the Snapshot for a receiver that has `previous`; unchanged parts are the same objects as there. Throws a
 * RangeError when the delta is for another one.
 */
export function applyDelta<T extends Content>(previous: T | null, delta: SnapshotDelta<T>): T {
  const held = heldRoutes(previous)
  const { goneBackends, ...rest } = delta
  const binds = delta.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({
      ...listener,
      routes: decodeRoutes(held, listener.routes)
    }))
  }))
  const before = previous?.backends ?? {}
  const kept = goneBackends.length === 0 ? before : withoutNames(before, new Set(goneBackends))
  const backends = Object.keys(delta.backends).length === 0 ? kept : { ...kept, ...delta.backends }
  // Delta<T> is T but for the two that are put in again.
  return share(previous, { ...rest, binds, backends } as unknown as T)
}

function withoutNames(backends: Content['backends'], names: ReadonlySet<string>): Content['backends'] {
  return Object.fromEntries(Object.entries(backends).filter(([name]) => !names.has(name)))
}

const PIECES_MAX = 1_000

/** The routes of one listener. */
interface HeldRoutes {
  /** Of the listener. */
  readonly key: string
  /** The place of the first among all routes. */
  readonly from: number
  readonly routes: readonly RouteSpec[]
}

function decodeRoutes(held: readonly HeldRoutes[], entries: readonly (RouteSpec | RouteRun)[]): readonly RouteSpec[] {
  const pieces = entries.map((entry) => (isRun(entry) ? routesIn(held, entry) : [entry]))
  if (pieces.length === 1) return pieces[0]!
  // Ten times faster, for as many arguments as there may be.
  return pieces.length <= PIECES_MAX ? ([] as readonly RouteSpec[]).concat(...pieces) : pieces.flat()
}

function isRun(route: RouteSpec | RouteRun): route is RouteRun {
  return Array.isArray(route)
}

/** A run is of one listener. */
function routesIn(held: readonly HeldRoutes[], [from, count]: RouteRun): readonly RouteSpec[] {
  const own = held.find((one) => from >= one.from && from + count <= one.from + one.routes.length)
  if (own === undefined || count < 0) throw new RangeError(`routes ${from} to ${from + count} are not held`)
  const isWhole = count === own.routes.length
  return isWhole ? own.routes : own.routes.slice(from - own.from, from - own.from + count)
}
