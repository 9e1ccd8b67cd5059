/** Snapshots on their way to somebody who has another one: what is the same object in both does not travel. */
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
  const places = new Map(routesOf(previous).map((route, i) => [route, i]))
  const binds = snapshot.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({ ...listener, routes: encodeRoutes(listener.routes, places) }))
  }))
  const before = previous?.backends ?? {}
  const has = (of: Content['backends'], name: string) => Object.hasOwn(of, name)
  const changed = ([name, backend]: [string, Backend]) => !has(before, name) || before[name] !== backend
  const backends = Object.fromEntries(Object.entries(snapshot.backends).filter(changed))
  const goneBackends = Object.keys(before).filter((name) => !has(snapshot.backends, name))
  return { ...snapshot, binds, backends, goneBackends }
}

function encodeRoutes(routes: readonly RouteSpec[], places: ReadonlyMap<RouteSpec, number>): (RouteSpec | RouteRun)[] {
  const found: (RouteSpec | [number, number])[] = []
  let run: [number, number] | null = null
  for (const route of routes) {
    const place = places.get(route)
    if (place === undefined) {
      run = null
      found.push(route)
    } else if (run !== null && place === run[0] + run[1]) run[1]++
    else {
      run = [place, 1]
      found.push(run)
    }
  }
  return found
}

/**
 * Restores the Snapshot for a receiver that has `previous`; unchanged parts are the same objects as there. Throws a
 * RangeError when the delta is for another one.
 */
export function applyDelta<T extends Content>(previous: T | null, delta: SnapshotDelta<T>): T {
  const known = routesOf(previous)
  const { goneBackends, ...rest } = delta
  const gone = new Set(goneBackends)
  const kept = Object.entries(previous?.backends ?? {}).filter(([name]) => !gone.has(name))
  const backends = Object.fromEntries([...kept, ...Object.entries(delta.backends)])
  const binds = delta.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({
      ...listener,
      routes: listener.routes.flatMap((route) => (isRun(route) ? routesIn(known, route) : [route]))
    }))
  }))
  // Delta<T> is T but for the two that are put in again.
  return share(previous, { ...rest, binds, backends } as unknown as T)
}

function isRun(route: RouteSpec | RouteRun): route is RouteRun {
  return Array.isArray(route)
}

function routesIn(known: readonly RouteSpec[], [from, count]: RouteRun): readonly RouteSpec[] {
  const routes = known.slice(from, from + count)
  if (routes.length !== count) throw new RangeError(`routes ${from} to ${from + count} of ${known.length}`)
  return routes
}

function routesOf(snapshot: Content | null): RouteSpec[] {
  return snapshot?.binds.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.routes)) ?? []
}
