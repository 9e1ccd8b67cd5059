/** The Snapshot of a Gateway from what was compiled in parts. What did not change is the same object in it. */
import type { Backend, Listener, RouteSpec, TcpRouteSpec } from '#engine/ir/snapshot.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { CompiledRoute } from './route-units.ts'

interface Lists {
  readonly routes: RouteSpec[]
  readonly tcpRoutes: TcpRouteSpec[]
}

/** `above`: without routes. `routes`: in the order of precedence. `named`: backends that are in use. */
export function assemble(
  above: SnapshotDraft,
  routes: Iterable<CompiledRoute>,
  named: Readonly<Record<string, Backend>>,
  before: SnapshotDraft | null
): SnapshotDraft {
  const lists = new Map<string, Lists>()
  const backends: Record<string, Backend> = { ...above.backends, ...named }
  for (const { units } of routes) {
    for (const { name, result } of units) {
      const { spec } = result
      if (spec === null) continue
      const own = lists.get(name) ?? { routes: [], tcpRoutes: [] }
      lists.set(name, own)
      if ('matches' in spec) own.routes.push(spec)
      else own.tcpRoutes.push(spec)
      for (const key in result.backends) backends[key] = result.backends[key]!
    }
  }
  const known = new Map(before?.binds.flatMap((bind) => bind.listeners).map((one) => [one.name, one]))
  const binds = above.binds.map((bind) => {
    const listeners = bind.listeners.map((one) => withRoutes(one, lists.get(one.name), known.get(one.name)))
    const old = before?.binds.find(({ port }) => port === bind.port)
    const isKept = old !== undefined && old.transport === bind.transport && old.tunnelProtocol === bind.tunnelProtocol
    return isKept && isSameList(old.listeners, listeners) ? old : { ...bind, listeners }
  })
  const draft = {
    ...above,
    binds: before !== null && isSameList(before.binds, binds) ? before.binds : binds,
    backends: before !== null && isSameRecord(before.backends, backends) ? before.backends : backends
  }
  return before !== null && isSameRecord(before, draft) ? before : draft
}

/** What `rawConfig` has stands before what routes say. */
function withRoutes(listener: Listener, lists: Lists | undefined, before: Listener | undefined): Listener {
  if (lists === undefined) return before !== undefined && isSameRecord(before, listener) ? before : listener
  const routes = [...listener.routes, ...lists.routes]
  const tcpRoutes = [...listener.tcpRoutes, ...lists.tcpRoutes]
  const made = {
    ...listener,
    routes: before !== undefined && isSameList(before.routes, routes) ? before.routes : routes,
    tcpRoutes: before !== undefined && isSameList(before.tcpRoutes, tcpRoutes) ? before.tcpRoutes : tcpRoutes
  }
  return before !== undefined && isSameRecord(before, made) ? before : made
}

/** The order of keys does not matter where they are names. */
function isSameRecord(a: object, b: object): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Reflect.get(a, key) === Reflect.get(b, key) && Object.hasOwn(b, key))
}
