/** The rules of routes at their listeners: what is made of the same records as before is not compiled again. */

import { share } from '#engine/ir/share.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { closureOf } from './closure.ts'
import type { ListenerModel } from './gateway-model.ts'
import type { JudgedRecords } from './judged-records.ts'
import type { RouteRecord } from './records.ts'
import { compileUnits, type Unit, type UnitParts, type UnitResult } from './units.ts'

/** A route at the listeners of one Gateway. */
export interface RouteAtGateway {
  readonly key: ObjectKey
  readonly record: RouteRecord
  /** By the listeners' names in the configuration. */
  readonly attachments: readonly { readonly listener: string; readonly hostnames: readonly string[] }[]
}

/** A listener, and all on which routes at it depend: the same object while nothing of that changes. */
export interface ListenerContext {
  readonly model: ListenerModel
  readonly context: object
}

export interface CompiledUnit extends Unit {
  /** Of the listener. */
  readonly name: string
  readonly result: UnitResult
}

export interface CompiledRoute {
  readonly units: readonly CompiledUnit[]
}

interface KnownUnit extends CompiledUnit {
  readonly inputs: readonly unknown[]
}

interface KnownRoute extends CompiledRoute {
  readonly inputs: readonly unknown[]
  readonly units: readonly KnownUnit[]
}

/** A unit that is to be compiled, with what it was before. */
interface Wanted extends Omit<KnownUnit, 'result'> {
  readonly before: KnownUnit | undefined
  result: UnitResult | null
}

export interface RouteUnitsParts extends UnitParts {
  readonly records: JudgedRecords
  readonly listeners: ReadonlyMap<string, ListenerContext>
  /** Another one when any record of a backend or a secret is another one. */
  readonly version: string
}

export class RouteUnits {
  #known = new Map<ObjectKey, KnownRoute>()
  #noteworthy = new Map<ObjectKey, KnownRoute>()
  /** What all of them depend on. */
  #around: readonly unknown[] = []

  /** In the order of precedence. */
  get routes(): ReadonlyMap<ObjectKey, CompiledRoute> {
    return this.#known
  }

  /** Those with faults, warnings, or rules that are closed. */
  get noteworthy(): ReadonlyMap<ObjectKey, CompiledRoute> {
    return this.#noteworthy
  }

  /** `changed`: which of `routes` are others; null: all may be. Gives those that are compiled otherwise now. */
  update(
    routes: ReadonlyMap<ObjectKey, RouteAtGateway>,
    changed: ReadonlySet<ObjectKey> | null,
    parts: RouteUnitsParts
  ): ReadonlySet<ObjectKey> | null {
    const around = [parts.version, ...[...parts.listeners].flatMap(([name, { context }]) => [name, context])]
    const isWhole = changed === null || !isSameList(around, this.#around)
    this.#around = around
    if (!isWhole) {
      for (const key of changed) {
        if (routes.has(key)) continue
        this.#known.delete(key)
        this.#noteworthy.delete(key)
      }
      const own = [...changed].flatMap((key) => routes.get(key) ?? [])
      this.#make(own, this.#known, parts)
      return changed
    }
    const next = new Map<ObjectKey, KnownRoute>()
    this.#noteworthy = new Map()
    this.#make(routes.values(), next, parts)
    this.#known = next
    return null
  }

  /** `known`: where what is made is put. */
  #make(routes: Iterable<RouteAtGateway>, known: Map<ObjectKey, KnownRoute>, parts: RouteUnitsParts): void {
    const wanted: { readonly key: ObjectKey; readonly inputs: readonly unknown[]; readonly units: Wanted[] }[] = []
    for (const route of routes) {
      const { key, record, attachments } = route
      const contexts = attachments.map(({ listener }) => parts.listeners.get(listener)?.context)
      const inputs = [record, attachments, parts.version, ...contexts]
      const before = this.#known.get(key)
      if (before !== undefined && isSameList(before.inputs, inputs)) this.#set(key, before, known)
      else {
        // Its place in the order of precedence.
        if (!known.has(key)) known.set(key, { inputs, units: [] })
        wanted.push({ key, inputs, units: unitsOf(route, parts, before) })
      }
    }
    const stale = wanted.flatMap(({ units }) => units.filter(({ result }) => result === null))
    const results = compileUnits(stale, parts)
    stale.forEach((unit, i) => {
      unit.result = share(unit.before?.result, results[i]!)
    })
    for (const { key, inputs, units } of wanted) {
      const made = units.map(({ before: _, ...unit }): KnownUnit => ({ ...unit, result: unit.result! }))
      this.#set(key, { inputs, units: made }, known)
    }
  }

  #set(key: ObjectKey, route: KnownRoute, known: Map<ObjectKey, KnownRoute>): void {
    known.set(key, route)
    if (route.units.some(isNoteworthy)) this.#noteworthy.set(key, route)
    else this.#noteworthy.delete(key)
  }
}

const isNoteworthy = ({ result }: CompiledUnit): boolean =>
  result.isClosed || result.faults.length > 0 || result.warnings.length > 0

/** Those of listeners that are served. */
function unitsOf(
  { record, attachments }: RouteAtGateway,
  { listeners, records }: RouteUnitsParts,
  known: KnownRoute | undefined
): Wanted[] {
  return attachments.flatMap(({ listener: name, hostnames }) => {
    const at = listeners.get(name)
    if (at === undefined) return []
    return record.rules.map((rule): Wanted => {
      const { backends, secrets } = closureOf([rule], records)
      const inputs = [rule, hostnames, at.context, ...backends, ...secrets]
      const before = known?.units.find(
        (one) => one.name === name && one.rule.place.path.join() === rule.place.path.join()
      )
      const isKept = before !== undefined && isSameList(before.inputs, inputs)
      return { name, rule, listener: at.model, hostnames, inputs, before, result: isKept ? before.result : null }
    })
  })
}
