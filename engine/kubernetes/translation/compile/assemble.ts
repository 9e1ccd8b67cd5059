/** The Snapshot of a Gateway from what was compiled in parts. What did not change is the same object in it. */
import type { Backend, Listener, RouteSpec, TcpRouteSpec } from '#engine/ir/snapshot.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { CompiledRoute } from './route-units.ts'

interface Lists {
  readonly routes: RouteSpec[]
  readonly tcpRoutes: TcpRouteSpec[]
}

type Routes = ReadonlyMap<ObjectKey, CompiledRoute>

/** Where a spec stands: at which place of which list of a listener. */
interface Place {
  readonly listener: string
  readonly kind: keyof Lists
  readonly index: number
}

/** A route that changes takes the places that it had; only if it needs others all routes are placed anew. */
export class Assembly {
  /** By listener. */
  #lists = new Map<string, Lists>()
  #places = new Map<ObjectKey, readonly Place[]>()
  /** Backends that rules bring with them. */
  #ofRoutes: Readonly<Record<string, Backend>> = {}
  #parts: readonly unknown[] = []
  #draft: SnapshotDraft | null = null

  /**
   * `above`: without routes. `routes`: in the order of precedence. `changed`: which of them are others than before;
   * null: all may be. `named`: backends that are in use.
   */
  update(
    above: SnapshotDraft,
    routes: Routes,
    changed: ReadonlySet<ObjectKey> | null,
    named: Readonly<Record<string, Backend>>
  ): SnapshotDraft {
    if (changed === null || !this.#replace(routes, changed)) this.#placeAll(routes)
    const before = this.#draft
    const known = new Map(before?.binds.flatMap((bind) => bind.listeners).map((one) => [one.name, one]))
    const binds = above.binds.map((bind) => {
      const listeners = bind.listeners.map((one) => withRoutes(one, this.#lists.get(one.name), known.get(one.name)))
      const old = before?.binds.find(({ port }) => port === bind.port)
      const isKept = old !== undefined && old.transport === bind.transport && old.tunnelProtocol === bind.tunnelProtocol
      return isKept && isSameList(old.listeners, listeners) ? old : { ...bind, listeners }
    })
    const draft = {
      ...above,
      binds: before !== null && isSameList(before.binds, binds) ? before.binds : binds,
      backends: this.#backends([above.backends, named, this.#ofRoutes])
    }
    this.#draft = before !== null && isSameRecord(before, draft) ? before : draft
    return this.#draft
  }

  #backends(parts: readonly Readonly<Record<string, Backend>>[]): Readonly<Record<string, Backend>> {
    const before = this.#draft?.backends
    const isSame = isSameList(this.#parts, parts)
    this.#parts = parts
    if (before !== undefined && isSame) return before
    const backends = Object.assign({}, ...parts) as Record<string, Backend>
    return before !== undefined && isSameRecord(before, backends) ? before : backends
  }

  /** False, and nothing is done, if not all of `changed` fit where they were. */
  #replace(routes: Routes, changed: ReadonlySet<ObjectKey>): boolean {
    const found: { readonly place: Place; readonly spec: RouteSpec | TcpRouteSpec }[] = []
    for (const key of changed) {
      const specs = specsOf(routes.get(key))
      const places = this.#places.get(key) ?? []
      if (specs.length !== places.length) return false
      for (let i = 0; i < specs.length; i++) {
        const { name, spec, backends } = specs[i]!
        const place = places[i]!
        if (place.listener !== name || place.kind !== kindOf(spec)) return false
        if (hasKeys(backends) || this.#specAt(place).backends.some((one) => this.#isOfRoute(one))) return false
        found.push({ place, spec })
      }
    }
    for (const { place, spec } of found) this.#listsOf(place.listener)[place.kind][place.index] = spec as never
    return true
  }

  #specAt({ listener, kind, index }: Place): RouteSpec | TcpRouteSpec {
    return this.#listsOf(listener)[kind][index]!
  }

  #isOfRoute({ backend }: { readonly backend: string }): boolean {
    return Object.hasOwn(this.#ofRoutes, backend)
  }

  #placeAll(routes: Routes): void {
    this.#lists = new Map()
    this.#places = new Map()
    const ofRoutes: Record<string, Backend> = {}
    for (const [key, route] of routes) {
      const places: Place[] = []
      for (const { name, spec, backends } of specsOf(route)) {
        const kind = kindOf(spec)
        const list = this.#listsOf(name)[kind]
        places.push({ listener: name, kind, index: list.length })
        list.push(spec as never)
        if (hasKeys(backends)) Object.assign(ofRoutes, backends)
      }
      if (places.length > 0) this.#places.set(key, places)
    }
    this.#ofRoutes = ofRoutes
  }

  #listsOf(listener: string): Lists {
    const lists = this.#lists.get(listener) ?? { routes: [], tcpRoutes: [] }
    this.#lists.set(listener, lists)
    return lists
  }
}

/** Those that are not left out, in order. */
function specsOf(route: CompiledRoute | undefined) {
  return (route?.units ?? []).flatMap(({ name, result: { spec, backends } }) =>
    spec === null ? [] : [{ name, spec, backends }]
  )
}

const kindOf = (spec: RouteSpec | TcpRouteSpec): keyof Lists => ('matches' in spec ? 'routes' : 'tcpRoutes')

function hasKeys(record: object): boolean {
  for (const _ in record) return true
  return false
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
