/** One Gateway: its Snapshot, of which everything stays that is made of the same records as before. */

import { share } from '#engine/ir/share.ts'
import type { Backend } from '#engine/ir/snapshot.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { type AboveRoutes, compileAboveRoutes } from './above-routes.ts'
import { assemble } from './assemble.ts'
import { NamedBackends } from './backends.ts'
import { closureOf } from './closure.ts'
import type { Compiler } from './compiler.ts'
import { JudgedRecords, type Refuse } from './judged-records.ts'
import type { GatewayRecord, Records, RouteRecord } from './records.ts'
import { type CompiledRoute, isSame, type ListenerContext, type RouteAtGateway, RouteUnits } from './route-units.ts'

export interface CompiledGateway {
  /** Empty where nothing can be served. */
  readonly draft: SnapshotDraft
  readonly above: AboveRoutes
  /** In the order of precedence. */
  readonly routes: ReadonlyMap<ObjectKey, CompiledRoute>
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

export class GatewayCompiler {
  readonly #parts: CompilerParts
  readonly #records: JudgedRecords
  readonly #backends: NamedBackends
  readonly #routes = new RouteUnits()
  /** By records of routes: names of the backends that they need. */
  readonly #names = new WeakMap<RouteRecord, { readonly version: number; readonly names: readonly string[] }>()
  #above: { readonly inputs: readonly unknown[]; readonly result: AboveRoutes } | null = null
  #context: object = {}
  #listeners: ReadonlyMap<string, ListenerContext> = new Map()
  #draft: SnapshotDraft | null = null

  constructor(parts: CompilerParts) {
    this.#parts = parts
    this.#records = new JudgedRecords(parts.records, parts.replacement)
    this.#backends = new NamedBackends(parts.compiler, this.#records)
  }

  /** `routes`: in the order of precedence. `others`: names of backends that are compiled though no route needs them. */
  update(record: GatewayRecord, routes: readonly RouteAtGateway[], others: readonly string[] = []): CompiledGateway {
    this.#records.prune()
    const above = this.#updateAbove(record)
    this.#updateContexts(above)
    const names = this.#namesOf(record, routes, others)
    this.#backends.update(names, above.model, this.#context)
    const { compiler, closedBackend, version } = this.#parts
    const compiled = this.#routes.update(routes, {
      ...{ model: above.model, records: this.#records, compiler, closedBackend, listeners: this.#listeners },
      version: `${version()} ${this.#records.version}`
    })
    if (hasClosed(compiled)) {
      names.add(closedBackend)
      this.#backends.update(names, above.model, this.#context)
    }
    const named: Record<string, Backend> = {}
    for (const name of names) {
      const backend = this.#backends.get(name)
      if (backend !== undefined) named[name] = backend
    }
    const draft = assemble(above.draft, compiled.values(), named, this.#draft)
    this.#draft = draft
    const parts = this.#servicesAndFaults(record, routes, names)
    const warnings = [...above.warnings, ...this.#backends.warnings, ...warningsOf(compiled)]
    return { draft, above, routes: compiled, backends: names, warnings, ...parts }
  }

  #updateAbove(record: GatewayRecord): AboveRoutes {
    const { backends, secrets } = closureOf([record, ...record.listeners], this.#parts.records)
    const inputs = [record, ...backends, ...secrets]
    if (this.#above !== null && isSame(this.#above.inputs, inputs)) return this.#above.result
    // What was refused below other policies may be in order below these.
    this.#records.forget()
    const made = compileAboveRoutes(record, this.#records, this.#parts.compiler)
    const result = { ...made, draft: share(this.#above?.result.draft, made.draft) }
    this.#above = { inputs, result }
    return result
  }

  /** What routes and backends depend on: not certificates, nor settings of connections. */
  #updateContexts({ model }: AboveRoutes): void {
    const { record, sets, isClosed, rawConfigs } = model
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
  #namesOf(record: GatewayRecord, routes: readonly RouteAtGateway[], others: readonly string[]): Set<string> {
    const above = closureOf([record, ...record.listeners, { backends: others, secrets: [] }], this.#parts.records)
    const names = new Set(above.backends.map(({ name }) => name))
    const version = this.#parts.version()
    for (const { record: route } of routes) {
      let known = this.#names.get(route)
      if (known?.version !== version) {
        const { backends } = closureOf(route.rules, this.#parts.records)
        known = { version, names: backends.map(({ name }) => name) }
        this.#names.set(route, known)
      }
      for (const name of known.names) names.add(name)
    }
    return names
  }

  #servicesAndFaults(record: GatewayRecord, routes: readonly RouteAtGateway[], names: ReadonlySet<string>) {
    const services = new Set<string>()
    const backendFaults: Fault[] = []
    const visit = (inputs: readonly { readonly services: readonly string[] }[]) => {
      for (const one of inputs) for (const service of one.services) services.add(service)
    }
    for (const name of names) {
      const found = this.#parts.records.backend(name)
      if (found === undefined) continue
      visit([found.entry])
      backendFaults.push(...this.#records.faultsOf(found))
    }
    visit([record.frontend, record.policies, ...record.listeners.map(({ policies }) => policies), ...record.rawConfigs])
    for (const { record: route } of routes) for (const { entry } of route.rules) visit([entry])
    return { services, backendFaults }
  }
}

function hasClosed(routes: ReadonlyMap<ObjectKey, CompiledRoute>): boolean {
  for (const { units } of routes.values()) if (units.some(({ result }) => result.isClosed)) return true
  return false
}

function warningsOf(routes: ReadonlyMap<ObjectKey, CompiledRoute>): string[] {
  const all: string[] = []
  for (const { units } of routes.values()) for (const { result } of units) all.push(...result.warnings)
  return [...new Set(all)]
}
