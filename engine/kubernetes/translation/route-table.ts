/** Routes with parents of this controller, in the order of precedence, and which of them stand at which Gateway. */

import { isSameList } from '#engine/kit/same-list.ts'
import type { KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { RouteAtGateway } from './compile/route-units.ts'
import { RouteOrder } from './route-order.ts'
import type { TranslatedRoute } from './translated.ts'

/** Which routes are others than before; null: all may be, and their order. */
export type ChangedRoutes = ReadonlySet<ObjectKey> | null

export class RouteTable {
  readonly #make: (key: ObjectKey, route: KubernetesObject) => TranslatedRoute
  readonly #order = new RouteOrder()
  #all: ReadonlyMap<ObjectKey, KubernetesObject> = new Map()
  #routes = new Map<ObjectKey, TranslatedRoute>()
  #attached = new Map<string, Map<ObjectKey, RouteAtGateway>>()

  constructor(make: (key: ObjectKey, route: KubernetesObject) => TranslatedRoute) {
    this.#make = make
  }

  /** Those that have parents of this controller. */
  get routes(): ReadonlyMap<ObjectKey, TranslatedRoute> {
    return this.#routes
  }

  /** By "namespace/name". */
  at(gateway: string): ReadonlyMap<ObjectKey, RouteAtGateway> {
    return this.#attached.get(gateway) ?? NO_ROUTES
  }

  /** `stale`: of those that have to be made anew; null: all. `keys`: of objects that have changed; null: all. */
  update(objects: Objects, keys: readonly ObjectKey[] | null, stale: ReadonlySet<string> | null): ChangedRoutes {
    const before = this.#all
    this.#all = this.#order.update(objects, keys)
    if (stale === null || this.#all !== before) return this.#rebuild()
    const changed = new Set<ObjectKey>()
    for (const key of stale as ReadonlySet<ObjectKey>) {
      const route = this.#all.get(key)
      const old = this.#routes.get(key)
      if (route === undefined) {
        if (old !== undefined) changed.add(key)
        this.#delete(key)
        continue
      }
      const next = this.#make(key, route)
      if (old === undefined && next.parents.all.length === 0) continue
      if (old === undefined && this.#isLast(key)) {
        changed.add(key)
        this.#set(key, next)
        continue
      }
      if (old === undefined || !isPlacedAlike(old, next)) return this.#rebuild()
      if (old.parents === next.parents && old.record === next.record && old.route === route) continue
      changed.add(key)
      this.#set(key, next)
    }
    return changed
  }

  #rebuild(): null {
    this.#routes = new Map()
    this.#attached = new Map()
    for (const [key, route] of this.#all) {
      const made = this.#make(key, route)
      if (made.parents.all.length > 0) this.#set(key, made)
    }
    return null
  }

  #delete(key: ObjectKey): void {
    this.#routes.delete(key)
    for (const own of this.#attached.values()) own.delete(key)
  }

  /** Whether it comes after all others, which so stay where they are. */
  #isLast(key: ObjectKey): boolean {
    return [...this.#all.keys()].at(-1) === key
  }

  #set(key: ObjectKey, made: TranslatedRoute): void {
    this.#routes.set(key, made)
    const { attachments } = made.parents
    for (const gateway in attachments) {
      const own = this.#attached.get(gateway) ?? new Map<ObjectKey, RouteAtGateway>()
      this.#attached.set(gateway, own)
      own.set(key, { key, record: made.record, attachments: attachments[gateway]! })
    }
  }
}

const NO_ROUTES: ReadonlyMap<ObjectKey, RouteAtGateway> = new Map()

/** Whether they stand at the same Gateways, so that nothing moves in the order of others. */
function isPlacedAlike({ parents: a }: TranslatedRoute, { parents: b }: TranslatedRoute): boolean {
  return b.all.length > 0 && isSameList(Object.keys(a.attachments), Object.keys(b.attachments))
}
