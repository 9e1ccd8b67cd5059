/** Names of backends and Services that the routes of a Gateway need, counted so that a change of one costs no more. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { closureOf } from './closure.ts'
import type { Records } from './records.ts'
import type { RouteAtGateway } from './route-units.ts'

interface Needed {
  readonly backends: readonly string[]
  readonly services: readonly string[]
}

export class RouteNeeds {
  readonly #backends = new Map<string, number>()
  readonly #services = new Map<string, number>()
  readonly #known = new Map<ObjectKey, Needed>()
  #version = -1

  /** `changed`: null: all may have. `version`: of `records`. */
  update(
    routes: ReadonlyMap<ObjectKey, RouteAtGateway>,
    changed: ReadonlySet<ObjectKey> | null,
    records: Records,
    version: number
  ): void {
    if (changed === null || version !== this.#version) {
      for (const counts of [this.#backends, this.#services, this.#known]) counts.clear()
      for (const route of routes.values()) this.#add(route, records)
    } else {
      for (const key of changed) {
        this.#remove(key)
        const route = routes.get(key)
        if (route !== undefined) this.#add(route, records)
      }
    }
    this.#version = version
  }

  get backends(): Iterable<string> {
    return this.#backends.keys()
  }

  /** Those that routes name by their addresses, as in policies; not those of their backends. */
  get services(): Iterable<string> {
    return this.#services.keys()
  }

  #add({ key, record }: RouteAtGateway, records: Records): void {
    const backends = closureOf(record.rules, records).backends.map(({ name }) => name)
    const services = record.rules.flatMap(({ entry }) => entry.services)
    for (const name of backends) this.#backends.set(name, (this.#backends.get(name) ?? 0) + 1)
    for (const name of services) this.#services.set(name, (this.#services.get(name) ?? 0) + 1)
    this.#known.set(key, { backends, services })
  }

  #remove(key: ObjectKey): void {
    const { backends, services } = this.#known.get(key) ?? NOTHING
    for (const name of backends) decrease(this.#backends, name)
    for (const name of services) decrease(this.#services, name)
    this.#known.delete(key)
  }
}

const NOTHING: Needed = { backends: [], services: [] }

function decrease(counts: Map<string, number>, name: string): void {
  const count = counts.get(name) ?? 0
  if (count > 1) counts.set(name, count - 1)
  else counts.delete(name)
}
