/** What sets of policies point at, by name. There may be 10,000 of both: each list is put in order once. */

import { type Placed, text } from '#engine/schema/placed.ts'
import {
  type ConfigTree,
  listenersOf,
  type PlacedBackend,
  type PlacedListener,
  type PlacedRoute,
  routesOf
} from './tree.ts'

export interface Looked<T> {
  readonly found: T
  /** Names that there are, for who has found nothing. */
  readonly known: () => readonly string[]
}

type ByName<T> = ReadonlyMap<string, readonly T[]>

export class Targets {
  readonly #tree: ConfigTree
  #listeners: ByName<PlacedListener> | undefined
  #routes: ByName<PlacedRoute> | undefined
  #backends: ReadonlyMap<string, PlacedBackend> | undefined
  /** Routes of one name by their ruleNames. */
  readonly #rules = new Map<string, ByName<PlacedRoute>>()
  readonly #parts = new Map<PlacedBackend, ReadonlyMap<string, Placed>>()

  constructor(tree: ConfigTree) {
    this.#tree = tree
  }

  listeners(name: string): Looked<readonly PlacedListener[]> {
    this.#listeners ??= Map.groupBy(listenersOf(this.#tree), (one) => one.name)
    return lookedUp(this.#listeners, name)
  }

  /** Those that are written; those of shortcuts have no name. */
  routes(name: string): Looked<readonly PlacedRoute[]> {
    this.#routes ??= this.#routesByName()
    return lookedUp(this.#routes, name)
  }

  rules(route: string, ruleName: string): Looked<readonly PlacedRoute[]> {
    const known = this.#rules.get(route) ?? rulesOf(this.routes(route).found)
    this.#rules.set(route, known)
    return lookedUp(known, ruleName)
  }

  /** Of several with one name the first. */
  backend(name: string): Looked<PlacedBackend | undefined> {
    this.#backends ??= firstByName(this.#tree.backends)
    const all = this.#backends
    return { found: all.get(name), known: () => namesOf(all) }
  }

  /** A provider or a target of a backend; of several with one name the first. */
  part(backend: PlacedBackend, name: string): Looked<Placed | undefined> {
    const all = this.#parts.get(backend) ?? firstByName(backend.config?.parts?.of(backend.value) ?? [])
    this.#parts.set(backend, all)
    return { found: all.get(name), known: () => namesOf(all) }
  }

  #routesByName(): ByName<PlacedRoute> {
    const binds = this.#tree.binds.filter(({ shortcut }) => shortcut === null)
    return Map.groupBy(routesOf({ ...this.#tree, binds }), ({ name }) => name)
  }
}

const names = new WeakMap<ReadonlyMap<string, unknown>, readonly string[]>()

function namesOf(all: ReadonlyMap<string, unknown>): readonly string[] {
  const known = names.get(all) ?? [...all.keys()]
  names.set(all, known)
  return known
}

const lookedUp = <T>(all: ByName<T>, name: string): Looked<readonly T[]> => ({
  found: all.get(name) ?? [],
  known: () => namesOf(all)
})

function rulesOf(routes: readonly PlacedRoute[]): ByName<PlacedRoute> {
  const ruled = routes.filter(({ raw }) => text(raw.ruleName) !== undefined)
  return Map.groupBy(ruled, ({ raw }) => String(raw.ruleName))
}

function firstByName<T extends Placed>(all: readonly T[]): ReadonlyMap<string, T> {
  const first = new Map<string, T>()
  for (const one of all) {
    const name = text(one.raw.name)
    if (name !== undefined && !first.has(name)) first.set(name, one)
  }
  return first
}
