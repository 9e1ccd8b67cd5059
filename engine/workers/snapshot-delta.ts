/** Snapshots on their way to a worker: what the worker already holds is not copied again. */
import { share } from '#engine/ir/share.ts'
import type { Backend, Bind, Listener, RouteSpec, Snapshot } from '#engine/ir/snapshot.ts'

/** A Snapshot in which the routes and backends that the receiver holds are only named. */
export interface SnapshotDelta extends Omit<Snapshot, 'binds' | 'backends'> {
  readonly binds: readonly (Omit<Bind, 'listeners'> & { readonly listeners: readonly ListenerDelta[] })[]
  /** Null: as before, under the same name. */
  readonly backends: Readonly<Record<string, Backend | null>>
}

interface ListenerDelta extends Omit<Listener, 'routes'> {
  /** Number: place of the route among all routes of the snapshot before. */
  readonly routes: readonly (RouteSpec | number)[]
}

/** `previous`: what the receiver got last; parts of `snapshot` that are the same objects are not sent. */
export function encodeDelta(previous: Snapshot | null, snapshot: Snapshot): SnapshotDelta {
  if (previous === null) return snapshot
  const places = new Map(routesOf(previous).map((route, i) => [route, i]))
  const backends: Record<string, Backend | null> = {}
  for (const [name, backend] of Object.entries(snapshot.backends)) {
    backends[name] = Object.hasOwn(previous.backends, name) && previous.backends[name] === backend ? null : backend
  }
  const binds = snapshot.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({
      ...listener,
      routes: listener.routes.map((route) => places.get(route) ?? route)
    }))
  }))
  return { ...snapshot, binds, backends }
}

/** Restores the Snapshot for a receiver that has `previous`; unchanged parts are the same objects as there. */
export function applyDelta(previous: Snapshot | null, delta: SnapshotDelta): Snapshot {
  const routes = previous === null ? [] : routesOf(previous)
  const backends: Record<string, Backend> = {}
  for (const [name, backend] of Object.entries(delta.backends)) backends[name] = backend ?? previous!.backends[name]!
  const binds = delta.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({
      ...listener,
      routes: listener.routes.map((route) => (typeof route === 'number' ? routes[route]! : route))
    }))
  }))
  return share(previous, { ...delta, binds, backends })
}

function routesOf({ binds }: Snapshot): RouteSpec[] {
  return binds.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.routes))
}
