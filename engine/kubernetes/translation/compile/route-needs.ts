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
  readonly #backends = new Counts()
  readonly #services = new Counts()
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
      for (const counts of [this.#backends, this.#services]) counts.clear()
      this.#known.clear()
      for (const route of routes.values()) this.#set(route, records)
    } else {
      for (const key of changed) {
        const route = routes.get(key)
        if (route === undefined) this.#remove(key)
        else this.#set(route, records)
      }
    }
    this.#version = version
  }

  /** Rises when a name comes or goes. */
  get revision(): number {
    return this.#backends.revision + this.#services.revision
  }

  get backends(): Iterable<string> {
    return this.#backends.names
  }

  /** Those that routes name by their addresses, as in policies; not those of their backends. */
  get services(): Iterable<string> {
    return this.#services.names
  }

  #set({ key, record }: RouteAtGateway, records: Records): void {
    const backends = closureOf(record.rules, records).backends.map(({ name }) => name)
    const services = record.rules.flatMap(({ entry }) => entry.services)
    // Names that it had before and still has never go.
    this.#backends.add(backends)
    this.#services.add(services)
    this.#remove(key)
    this.#known.set(key, { backends, services })
  }

  #remove(key: ObjectKey): void {
    const { backends, services } = this.#known.get(key) ?? NOTHING
    this.#backends.remove(backends)
    this.#services.remove(services)
    this.#known.delete(key)
  }
}

const NOTHING: Needed = { backends: [], services: [] }

class Counts {
  readonly #counts = new Map<string, number>()
  revision = 0

  get names(): Iterable<string> {
    return this.#counts.keys()
  }

  add(names: readonly string[]): void {
    for (const name of names) {
      const count = this.#counts.get(name)
      if (count === undefined) this.revision++
      this.#counts.set(name, (count ?? 0) + 1)
    }
  }

  remove(names: readonly string[]): void {
    for (const name of names) {
      const count = this.#counts.get(name) ?? 0
      if (count > 1) this.#counts.set(name, count - 1)
      else if (this.#counts.delete(name)) this.revision++
    }
  }

  clear(): void {
    this.#counts.clear()
    this.revision++
  }
}
