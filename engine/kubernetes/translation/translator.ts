/** Keeps what it has translated: a change of objects costs what depends on them. */

import { isSameList } from '#engine/kit/same-list.ts'
import type { KindName, KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, ObjectStore, type Objects } from '#engine/kubernetes/objects/objects.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { policyKeys } from '#engine/source/policies.ts'
import { classOf } from './attach/classes.ts'
import { type GatewayState, gatewayState } from './attach/gateways.ts'
import { type AttachableListener, attachable, parentsOf } from './attach/routes.ts'
import { Compiler } from './compile/compiler.ts'
import { GatewayCompiler } from './compile/gateway-compiler.ts'
import { emptyGateway, RecordMaker } from './compile/make-records.ts'
import type { BackendRecord, GatewayRecord, Needs, Records, RouteRecord, SecretRecord } from './compile/records.ts'
import type { RouteAtGateway } from './compile/route-units.ts'
import { Stumbles } from './contained.ts'
import { objectSources } from './files.ts'
import { KnownObjects } from './known-objects.ts'
import type { GatewayOutput, Translation, TranslatorOptions } from './options.ts'
import type { Fault } from './parts.ts'
import { placesOf } from './places.ts'
import type { PolicyOptions } from './policies/index.ts'
import { CLOSED, CLOSED_BACKEND, refusedBackend } from './refused-backends.ts'
import { isRoute } from './route-order.ts'
import { type ChangedRoutes, RouteTable } from './route-table.ts'
import { StableMemo } from './stable-memo.ts'
import { Statuses } from './statuses/statuses.ts'
import { type Parents, parentsRecord, type TranslatedGateway } from './translated.ts'

export class Translator {
  /** Of this translation, and of what is made of it elsewhere. */
  readonly stumbles = new Stumbles()
  readonly #options: TranslatorOptions
  readonly #policyOptions: PolicyOptions
  readonly #controllerName: string
  readonly #compiler: Compiler
  readonly #known = new KnownObjects()
  readonly #table: RouteTable
  readonly #statuses: Statuses
  readonly #compilers = new Map<string, GatewayCompiler>()
  readonly #records: Records
  readonly #gateways: StableMemo<GatewayRecord>
  readonly #routes: StableMemo<RouteRecord>
  readonly #backends: StableMemo<BackendRecord>
  readonly #secrets: StableMemo<SecretRecord | undefined>
  #states = new Memo<GatewayState>()
  readonly #attachable: StableMemo<readonly AttachableListener[]>
  readonly #parents: StableMemo<Parents>
  /** For backends that no Gateway has. */
  readonly #others: GatewayCompiler
  /** Names of backends that are in use. */
  readonly #used = new Set<string>()
  #listeners: ReadonlyMap<string, readonly AttachableListener[]> = new Map()
  #haveListenersChanged = false
  #objects: Objects = new ObjectStore()
  /** Rises when any record of a backend or a secret is another one. */
  #version = 0
  #translation: Translation | null = null
  /** When so many secrets are known, those that nothing needs are forgotten. */
  #secretsMax = SECRETS_MIN

  constructor(options: TranslatorOptions) {
    this.#options = options
    const { policies, backends, clusterDomain = 'cluster.local', controllerName = CONTROLLER_NAME } = options
    const { hasTenants = true } = options
    this.#controllerName = controllerName
    this.#policyOptions = { policies, backends, clusterDomain, hasTenants }
    this.#compiler = new Compiler({ ...options, sources: objectSources(() => this.#objects, options.readYaml) })
    this.#statuses = new Statuses(this.#policyOptions, controllerName)
    const maker = new RecordMaker(this.#policyOptions)
    const stateOf = (name: string, objects: Objects) => stateOfGateway(name, objects, controllerName)
    this.#gateways = new StableMemo((name, objects) => maker.gateway(stateOf(name, objects), objects))
    this.#routes = new StableMemo((key, objects) => maker.route(objectAt(key, objects), objects))
    this.#backends = new StableMemo((name, objects) => maker.backend(name, objects) ?? refusedBackend(name))
    this.#secrets = new StableMemo((name, objects) => maker.secret(name, objects))
    this.#attachable = new StableMemo((name, objects) => stateOf(name, objects).listeners.map(attachable))
    const listenersOf = (gateway: string) => this.#listeners.get(gateway)
    this.#parents = new StableMemo((key, objects) =>
      parentsRecord(parentsOf(objectAt(key, objects), objects, listenersOf))
    )
    this.#records = {
      backend: (name) => (name === CLOSED_BACKEND ? CLOSED : this.#backends.of(name, this.#objects)),
      secret: (name) => this.#secrets.of(name, this.#objects)
    }
    this.#table = new RouteTable((key, route) => {
      const parents = this.#parents.of(key, this.#objects)
      // What is attached to nothing of ours has no status of ours either.
      return { route, parents, record: parents.all.length === 0 ? NO_RULES : this.#routes.of(key, this.#objects) }
    })
    this.#others = this.#newCompiler()
  }

  /** How many configurations have been compiled: for what measures what is kept. */
  get compilations(): number {
    return this.#compiler.count
  }

  /** Pure but for what it keeps. `changed`: since the last call, with what came and went; null: everything. */
  update(objects: Objects, changed: Iterable<ObjectKey> | null): Translation {
    return this.stumbles.during(() => this.#update(objects, changed))
  }

  #update(objects: Objects, changed: Iterable<ObjectKey> | null): Translation {
    this.#objects = objects
    const keys = changed === null || this.#translation === null ? null : this.#known.changed(objects, changed)
    if (keys === null) this.#known.reset(objects)
    if (keys?.length === 0 && this.#translation !== null) return { ...this.#translation, changedStatuses: NONE }
    for (const memo of [this.#gateways, this.#attachable]) memo.changed(keys)
    if (keys === null) this.#states = new Memo()
    else this.#states.changed(keys)
    for (const memo of [this.#backends, this.#secrets]) {
      if (memo.refresh(memo.changed(keys), objects).length > 0) this.#version++
    }
    const names = this.#updateListeners(objects)
    const changedRoutes = this.#updateRoutes(objects, keys)
    const { routes } = this.#table
    const gateways = this.#compile(names, changedRoutes, objects)
    const others = this.#compileOthers(gateways, objects)
    this.#backends.retain(this.#used)
    this.#retainSecrets(names, objects)
    const outputs = gateways.map((one): [string, GatewayOutput] => [one.name, this.#output(one)])
    const statuses = this.#statuses.update({ gateways, routes, changed: changedRoutes, objects, keys, others })
    this.#translation = { gateways: new Map(outputs), ...statuses }
    return this.#translation
  }

  /** How many secrets are known. */
  get secretCount(): number {
    return this.#secrets.size
  }

  /** Walks over all that may need one, so it waits until twice as many are known as were needed. */
  #retainSecrets(gateways: ReadonlySet<string>, objects: Objects): void {
    if (this.#secrets.size < this.#secretsMax) return
    const needed = new Set<string>()
    const need = (all: readonly Needs[]): void => {
      for (const { secrets } of all) for (const name of secrets) needed.add(name)
    }
    for (const name of gateways) {
      const record = this.#gateways.of(name, objects)
      need([record, ...record.listeners])
    }
    for (const { record } of this.#table.routes.values()) need(record.rules)
    for (const name of this.#used) need([this.#backends.of(name, objects)])
    this.#secrets.retain(needed)
    this.#secretsMax = Math.max(SECRETS_MIN, 2 * this.#secrets.size)
  }

  /** Names of the Gateways of this controller. */
  #updateListeners(objects: Objects): ReadonlySet<string> {
    const own = objects.list('Gateway').filter((one) => classOf(one, objects, this.#controllerName) !== null)
    const names = new Set(own.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
    for (const memo of [this.#gateways, this.#attachable]) memo.retain(names)
    const next = new Map([...names].map((name) => [name, this.#attachable.of(name, objects)]))
    const before = this.#listeners
    const isSame = next.size === before.size && [...next].every(([name, listeners]) => before.get(name) === listeners)
    this.#haveListenersChanged = !isSame
    this.#listeners = next
    return names
  }

  #updateRoutes(objects: Objects, keys: readonly ObjectKey[] | null): ChangedRoutes {
    const isWhole = keys === null || this.#haveListenersChanged
    const stale = this.#parents.changed(isWhole ? null : keys)
    for (const name of this.#routes.changed(keys)) stale.add(name)
    for (const key of keys ?? []) {
      if (!isRoute(key)) continue
      stale.add(key)
      for (const memo of [this.#parents, this.#routes]) if (!isThere(key, objects)) memo.forget(key)
    }
    return this.#table.update(objects, keys, isWhole ? null : stale)
  }

  #compile(names: ReadonlySet<string>, changed: ChangedRoutes, objects: Objects): TranslatedGateway[] {
    for (const name of this.#compilers.keys()) if (!names.has(name)) this.#compilers.delete(name)
    return [...names].map((name) => {
      const record = this.#gateways.of(name, objects)
      const compiled = this.#compilerOf(name).update(record, this.#table.at(name), changed)
      const state = this.#states.of(name, objects, (read) => stateOfGateway(name, read, this.#controllerName))
      return { name, state, record, compiled }
    })
  }

  /** What is wrong with GatewayBackends that no Gateway has. */
  #compileOthers(gateways: readonly TranslatedGateway[], objects: Objects): readonly Fault[] {
    this.#used.clear()
    for (const { compiled } of gateways) for (const name of compiled.backends) this.#used.add(name)
    const names = objects.list('GatewayBackend').map(({ metadata }) => `${metadata.namespace}.${metadata.name}`)
    const others = names.filter((name) => !this.#used.has(name))
    for (const name of others) this.#used.add(name)
    return this.#others.update(NO_GATEWAY, NO_ROUTES, null, others).backendFaults
  }

  #compilerOf(name: string): GatewayCompiler {
    const compiler = this.#compilers.get(name) ?? this.#newCompiler()
    this.#compilers.set(name, compiler)
    return compiler
  }

  #newCompiler(): GatewayCompiler {
    return new GatewayCompiler({
      compiler: this.#compiler,
      records: this.#records,
      version: () => this.#version,
      replacement: refusedBackend,
      closedBackend: CLOSED_BACKEND
    })
  }

  #output({ name, state, record, compiled }: TranslatedGateway): GatewayOutput {
    const { draft, services, warnings } = compiled
    const before = this.#translation?.gateways.get(name)
    const isSame =
      before !== undefined &&
      before.draft === draft &&
      before.gateway === state.gateway &&
      before.services === services &&
      isSameList(before.warnings, warnings)
    if (isSame) return before
    const keys = policyKeys(this.#options.policies)
    return {
      gateway: state.gateway,
      draft,
      services,
      warnings,
      places: () => placesOf(record, compiled, this.#records, keys)
    }
  }
}

const SECRETS_MIN = 256
const NONE: ReadonlySet<ObjectKey> = new Set()
const NO_RULES: RouteRecord = { rules: [], faults: [] }
const NO_ROUTES: ReadonlyMap<ObjectKey, RouteAtGateway> = new Map()

/** Around backends that are compiled only to be judged. */
const NO_GATEWAY: GatewayRecord = emptyGateway({ key: 'Gateway//', path: [] })

function stateOfGateway(name: string, objects: Objects, controllerName: string): GatewayState {
  const gateway = objectAt(`Gateway/${name}`, objects)
  return gatewayState(gateway, classOf(gateway, objects, controllerName)!, objects)
}

const isThere = (key: ObjectKey, objects: Objects): boolean => objectAt(key, objects) !== undefined

function objectAt(key: string, objects: Objects): KubernetesObject {
  const [kind, namespace = '', name = ''] = key.split('/')
  return objects.get(kind as KindName, namespace, name)!
}
