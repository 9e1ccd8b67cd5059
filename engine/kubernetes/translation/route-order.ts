/** All routes in the order of precedence. Kept, because changes of routes seldom change it. */

import type { KindName } from '#engine/kubernetes/objects/object.ts'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { byAge } from './attach/age.ts'

const KINDS = ['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute'] as const

export const isRoute = (key: ObjectKey): boolean =>
  (KINDS as readonly string[]).includes(key.slice(0, key.indexOf('/')))

export class RouteOrder {
  #routes = new Map<ObjectKey, KubernetesObject>()
  /** No route that is there comes after it. */
  #last: KubernetesObject | null = null

  /** By their keys, the first in precedence first. Null: all may have changed. */
  update(objects: Objects, changed: readonly ObjectKey[] | null): ReadonlyMap<ObjectKey, KubernetesObject> {
    const own = changed?.filter(isRoute)
    if (own?.length === 0) return this.#routes
    if (own?.every((key) => this.#replaces(key, objects))) return this.#routes
    const all = KINDS.flatMap((kind) => objects.list(kind))
    this.#routes = new Map(all.sort(byAge).map((route) => [keyOf(route), route]))
    this.#last = all.at(-1) ?? null
    return this.#routes
  }

  /** Whether all others stay where they are. */
  #replaces(key: ObjectKey, objects: Objects): boolean {
    const [kind, namespace = '', name = ''] = key.split('/')
    const now = objects.get(kind as KindName, namespace, name)
    const before = this.#routes.get(key)
    if (now === undefined && before === undefined) return true
    if (now === undefined) return this.#routes.delete(key)
    const isInPlace = before === undefined ? this.#isLast(now) : byAge(before, now) === 0
    if (isInPlace) this.#set(key, now)
    return isInPlace
  }

  /** New routes are the newest as a rule. */
  #isLast(route: KubernetesObject): boolean {
    return this.#last === null || byAge(this.#last, route) < 0
  }

  #set(key: ObjectKey, route: KubernetesObject): void {
    if (!this.#routes.has(key)) this.#last = route
    this.#routes.set(key, route)
  }
}
