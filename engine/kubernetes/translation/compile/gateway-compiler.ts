/** One Gateway: its Snapshot, of which everything stays that is made of the same records as before. */

import { share } from '#engine/ir/share.ts'
import type { Backend } from '#engine/ir/snapshot.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { type AboveRoutes, compileAboveRoutes } from './above-routes.ts'
import { Assembly } from './assemble.ts'
import { NamedBackends } from './backends.ts'
import { closureOf } from './closure.ts'
import type { Compiler } from './compiler.ts'
import { JudgedRecords, type Refuse } from './judged-records.ts'
import { belowRoutes } from './raw-below.ts'
import type { GatewayRecord, Records } from './records.ts'
import { RouteNeeds } from './route-needs.ts'
import { type CompiledRoute, type ListenerContext, type RouteAtGateway, RouteUnits } from './route-units.ts'

export interface CompiledGateway {
  /** Empty where nothing can be served. */
  readonly draft: SnapshotDraft
  readonly above: AboveRoutes
  /** In the order of precedence. */
  readonly routes: ReadonlyMap<ObjectKey, CompiledRoute>
  /** Those of them with faults, warnings, or rules that are closed. */
  readonly noteworthy: ReadonlyMap<ObjectKey, CompiledRoute>
  /** Those that may be compiled otherwise than before; null: all. */
  readonly changed: ReadonlySet<ObjectKey> | null
  /** Names of all entries of `backends` that are in use. */
  readonly backends: ReadonlySet<string>
  /** As "namespace/name". */
  readonly services: ReadonlySet<string>
  readonly backendFaults: readonly Fault[]
  readonly warnings: readonly string[]
}

export interface CompilerParts {
  readonly compiler: Compiler
  readonly records: Records
  /** Rises when any record of a backend or a secret is another one. */
  readonly version: () => number
  readonly replacement: Refuse
  /** Name of the backend that answers for what is closed. */
  readonly closedBackend: string
}

/** Backends and Services that are in use, the same objects while nothing of them changes. */
interface Needed extends Pick<CompiledGateway, 'services' | 'backendFaults' | 'warnings'> {
  /** What it was made of. */
  readonly inputs: readonly unknown[]
  readonly names: ReadonlySet<string>
  readonly named: Readonly<Record<string, Backend>>
}

export class GatewayCompiler {
  readonly #parts: CompilerParts
  readonly #records: JudgedRecords
  readonly #backends: NamedBackends
  readonly #routes = new RouteUnits()
  readonly #needs = new RouteNeeds()
  #above: { readonly inputs: readonly unknown[]; readonly result: AboveRoutes } | null = null
  /** The last result, and what it was made of beside the routes. */
  #last: { readonly inputs: readonly unknown[]; readonly compiled: CompiledGateway } | null = null
  #context: object = {}
  #listeners: ReadonlyMap<string, ListenerContext> = new Map()
  /** What backends are made of. */
  #around: readonly unknown[] = []
  #needed: Needed | null = null
  readonly #assembly = new Assembly()

  constructor(parts: CompilerParts) {
    this.#parts = parts
    this.#records = new JudgedRecords(parts.records, parts.replacement)
    this.#backends = new NamedBackends(parts.compiler, this.#records)
  }

  /**
   * `routes`: in the order of precedence. `changed`: which of them are others than before; null: all may be. `others`:
   * names of backends that are compiled though no route needs them.
   */
  update(
    record: GatewayRecord,
    routes: ReadonlyMap<ObjectKey, RouteAtGateway>,
    changed: ReadonlySet<ObjectKey> | null,
    others: readonly string[] = []
  ): CompiledGateway {
    const { compiler, closedBackend, version } = this.#parts
    const inputs = [record, version(), ...others]
    if (
      this.#last !== null &&
      isSameList(this.#last.inputs, inputs) &&
      isWithout([routes, this.#routes.routes], changed)
    ) {
      return { ...this.#last.compiled, changed: NONE }
    }
    this.#records.prune()
    const above = this.#updateAbove(record)
    this.#updateContexts(above)
    this.#needs.update(routes, changed, this.#parts.records, version())
    const around = [...inputs, above, this.#context, this.#needs.revision]
    if (!isSameList(around, this.#around))
      this.#backends.update(this.#namesOf(record, others), above.model, this.#context)
    this.#around = around
    const compiled = this.#routes.update(routes, changed, {
      ...{ model: above.model, records: this.#records, compiler, closedBackend, listeners: this.#listeners },
      version: `${version()} ${this.#records.version}`
    })
    const { noteworthy } = this.#routes
    const isClosed = [...noteworthy.values()].some(({ units }) => units.some(({ result }) => result.isClosed))
    const needed = this.#updateNeeded(record, others, isClosed)
    const draft = this.#assembly.update(above.draft, this.#routes.routes, compiled, needed.named)
    const made = {
      ...{ draft, above, routes: this.#routes.routes, noteworthy, changed: compiled },
      warnings: [...new Set([...above.warnings, ...needed.warnings, ...warningsOf(noteworthy)])],
      ...{ backends: needed.names, services: needed.services, backendFaults: needed.backendFaults }
    }
    this.#last = { inputs, compiled: made }
    return made
  }

  /** `isClosed`: some rules are, and need the backend that answers for them. */
  #updateNeeded(record: GatewayRecord, others: readonly string[], isClosed: boolean): Needed {
    const inputs = [...this.#around, this.#records.revision, isClosed]
    if (this.#needed !== null && isSameList(this.#needed.inputs, inputs)) return this.#needed
    const names = this.#namesOf(record, others)
    if (isClosed) names.add(this.#parts.closedBackend)
    this.#backends.update(names, this.#above!.result.model, this.#context)
    const named: Record<string, Backend> = {}
    for (const name of names) {
      const backend = this.#backends.get(name)
      if (backend !== undefined) named[name] = backend
    }
    const { warnings } = this.#backends
    this.#needed = { inputs, names, named, warnings, ...this.#servicesAndFaults(record, names) }
    return this.#needed
  }

  #updateAbove(record: GatewayRecord): AboveRoutes {
    const { backends, secrets } = closureOf([record, ...record.listeners], this.#parts.records)
    const inputs = [record, ...backends, ...secrets]
    if (this.#above !== null && isSameList(this.#above.inputs, inputs)) return this.#above.result
    // What was refused below other policies may be in order below these.
    this.#records.forget()
    const made = compileAboveRoutes(record, this.#records, this.#parts.compiler)
    const result = { ...made, draft: share(this.#above?.result.draft, made.draft) }
    this.#above = { inputs, result }
    return result
  }

  /** What routes and backends depend on: not certificates, nor settings of connections. */
  #updateContexts({ model }: AboveRoutes): void {
    const { record, sets, isClosed } = model
    const rawConfigs = model.rawConfigs.map(belowRoutes)
    const { clientCertificate } = record
    const needs = closureOf([record], this.#records)
    this.#context = share(this.#context, { sets, isClosed, rawConfigs, clientCertificate, needs })
    const listeners = new Map<string, ListenerContext>()
    for (const one of model.listeners) {
      if (!one.isServed) continue
      const { name, hostname, port, protocol, authentication } = one.record
      const own = { name, hostname, port, protocol, authentication, sets: one.sets, isClosed: one.isClosed }
      const made = { above: this.#context, ...own, needs: closureOf([one.record], this.#records) }
      listeners.set(name, { model: one, context: share(this.#listeners.get(name)?.context, made) })
    }
    this.#listeners = listeners
  }

  /** Of all backends that are needed. One that is refused stays among them, in another form. */
  #namesOf(record: GatewayRecord, others: readonly string[]): Set<string> {
    const above = closureOf([record, ...record.listeners, { backends: others, secrets: [] }], this.#parts.records)
    const names = new Set(above.backends.map(({ name }) => name))
    for (const name of this.#needs.backends) names.add(name)
    return names
  }

  #servicesAndFaults(record: GatewayRecord, names: ReadonlySet<string>) {
    const services = new Set(this.#needs.services)
    const backendFaults: Fault[] = []
    const visit = (one: { readonly services: readonly string[] }) => {
      for (const service of one.services) services.add(service)
    }
    for (const name of names) {
      const found = this.#parts.records.backend(name)
      if (found === undefined) continue
      visit(found.entry)
      backendFaults.push(...this.#records.faultsOf(found))
    }
    const { frontend, policies, listeners, rawConfigs } = record
    for (const one of [frontend, policies, ...listeners.map((own) => own.policies), ...rawConfigs]) visit(one)
    return { services, backendFaults }
  }
}

const NONE: ReadonlySet<ObjectKey> = new Set()

/** Whether no route that is there, or was, has changed. Null: all may have. */
function isWithout(
  routes: readonly ReadonlyMap<ObjectKey, unknown>[],
  changed: ReadonlySet<ObjectKey> | null
): boolean {
  return changed !== null && ![...changed].some((key) => routes.some((some) => some.has(key)))
}

function warningsOf(routes: ReadonlyMap<ObjectKey, CompiledRoute>): string[] {
  return [...routes.values()].flatMap(({ units }) => units.flatMap(({ result }) => result.warnings))
}
