/** Backends of a Snapshot -> what serves exchanges; one that a reload does not change keeps what it was compiled to. */
import type { CompiledBackend, UpstreamClient } from '#engine/contract/backend.ts'
import type { Background } from '#engine/contract/background.ts'
import type { Problem } from '#engine/contract/config-error.ts'
import type { RouteSettings } from '#engine/contract/filter.ts'
import { FieldError } from '#engine/contract/policy.ts'
import type { ServiceRecorder } from '#engine/contract/service.ts'
import type { Backend, PolicySet, RouteSpec, Snapshot } from '#engine/ir/snapshot.ts'
import { notingBackground } from './endpoint-background.ts'
import { pathInside } from './policies.ts'
import type { RuntimeDeps } from './runtime-types.ts'
import { ServiceTable, type UsedService } from './services.ts'

type HostRewrite = RouteSettings['hostRewrite']

/** Where a configuration is only looked at. */
const NO_WORKER = { index: -1, count: 1 }

const NOT_RECORDED: ServiceRecorder = { record() {} }

/** A backend as a service: its name is the host, since no client has asked for another. */
const AS_SERVICE: HostRewrite = 'auto'

/** A backend, and what it was compiled with. */
export interface KnownBackend {
  readonly name: string
  readonly backend: Backend
  readonly connectTimeoutMs: number
  readonly maxBufferBytes: number
  readonly keepsAnswers: boolean
  /** Backends that it asks as services, by name. */
  readonly uses: ReadonlyMap<string, UsedService>
  readonly compiled: CompiledBackend
  /** The last configuration that it is a part of, by the number of its build. */
  usedIn: number
}

/** Under what a backend is known: its name and how its host is rewritten, or that it is a service. */
class KnownBackends {
  readonly #byMode = new Map<string, Map<string, KnownBackend>>()

  get(mode: string, name: string): KnownBackend | undefined {
    return this.#byMode.get(mode)?.get(name)
  }

  set(mode: string, name: string, known: KnownBackend): void {
    const names = this.#byMode.get(mode)
    if (names === undefined) this.#byMode.set(mode, new Map([[name, known]]))
    else names.set(name, known)
  }

  get all(): KnownBackend[] {
    return [...this.#byMode.values()].flatMap((names) => [...names.values()])
  }

  /** Takes over `fresh`, and forgets what is not used in this build. */
  keep(build: number, fresh: KnownBackends): void {
    for (const [mode, names] of fresh.#byMode) for (const [name, known] of names) this.set(mode, name, known)
    for (const names of this.#byMode.values()) {
      for (const [name, { usedIn }] of names) if (usedIn !== build) names.delete(name)
    }
  }
}

/** What the next configuration may take over. */
export class BackendCache {
  /** Connections of another one are not those that a compiled backend uses. */
  upstream: UpstreamClient | null = null
  known = new KnownBackends()
}

export class BackendCompiler {
  readonly services: ServiceTable
  /** The configuration before was served by the same connections. */
  readonly isOfBefore: boolean
  readonly #snapshot: Snapshot
  readonly #deps: RuntimeDeps
  readonly #problems: Problem[]
  readonly #build: number
  readonly #known: KnownBackends
  /** What the configuration before did not have, or had otherwise. It goes on if this one is refused. */
  readonly #fresh = new KnownBackends()
  /** Of backends that are written in a policy. */
  readonly #inPlace: Background[] = []
  readonly #services = new Map<string, CompiledBackend>()
  /** Services that those ask. */
  readonly #usedOnce = new Map<string, UsedService>()
  /** Answers are read after they have passed: known with the frontend plans. */
  keepsAnswers = false

  /** Problems are appended to `problems`. `build`: number of this one. */
  constructor(snapshot: Snapshot, deps: RuntimeDeps, problems: Problem[], before: BackendCache, build: number) {
    this.#snapshot = snapshot
    this.#deps = deps
    this.#problems = problems
    this.isOfBefore = before.upstream === deps.upstream
    this.#known = this.isOfBefore ? before.known : new KnownBackends()
    this.#build = build
    this.services = new ServiceTable({
      backends: snapshot.backends,
      kinds: deps.backends,
      inProcess: deps.inProcess,
      recorderFor: deps.serviceRecorderFor ?? (() => NOT_RECORDED),
      compile: (backend, name) => this.#service(backend, name)
    })
  }

  /** What has left the configuration is forgotten. */
  keep(cache: BackendCache): void {
    this.#known.keep(this.#build, this.#fresh)
    cache.upstream = this.#deps.upstream
    cache.known = this.#known
  }

  /** What the backends of routes, and the services that they ask, do beside requests: after `keep`. */
  get background(): Background[] {
    const { all } = this.#known
    const used = [...all.flatMap(({ uses }) => [...uses.values()]), ...this.#usedOnce.values()]
    const compiled = [...all, ...used].map((one) => one.compiled)
    return [...compiled.flatMap(({ background }) => background ?? []), ...this.#inPlace]
  }

  /** Whether one of `backends` asks models. */
  askModels({ backends }: Pick<RouteSpec, 'backends'>): boolean {
    const kinds = backends.map(({ backend }) => this.#find(backend)?.kind)
    return this.#deps.backends.some(({ kind, models }) => models !== undefined && kinds.includes(kind))
  }

  /** Undefined: there is none of that name. */
  named(name: string, hostRewrite: HostRewrite): KnownBackend | undefined {
    const known = this.#known.get(hostRewrite, name)
    if (known !== undefined && this.adopt(known)) return known
    const made = this.#fresh.get(hostRewrite, name)
    if (made !== undefined) return made
    const backend = this.#find(name)
    if (backend === undefined) return undefined
    const fresh = this.#compiled(backend, name, hostRewrite)
    this.#fresh.set(hostRewrite, name, fresh)
    return fresh
  }

  #find(name: string): Backend | undefined {
    const { backends } = this.#snapshot
    return Object.hasOwn(backends, name) ? backends[name] : undefined
  }

  /** Takes over what the configuration before had, if it would be made the same again. */
  adopt(known: KnownBackend): boolean {
    if (known.usedIn === this.#build) return true
    if (!this.stays(known)) return false
    known.usedIn = this.#build
    return true
  }

  /** Whether it would be made the same again. */
  stays(known: KnownBackend): boolean {
    const { connectTimeoutMs, maxBufferBytes, keepsAnswers } = this.#settings
    return (
      known.backend === this.#find(known.name) &&
      known.connectTimeoutMs === connectTimeoutMs &&
      known.maxBufferBytes === maxBufferBytes &&
      known.keepsAnswers === keepsAnswers &&
      this.services.has(known.uses)
    )
  }

  #compiled(backend: Backend, name: string, hostRewrite: HostRewrite): KnownBackend {
    const uses = new Map<string, UsedService>()
    const compiled = this.#compile(backend, name, hostRewrite, uses)
    return { name, backend, ...this.#settings, uses, compiled, usedIn: this.#build }
  }

  get #settings() {
    const { connectTimeoutMs } = this.#snapshot.process.upstream
    const { maxBufferBytes } = this.#snapshot.frontend.http
    return { connectTimeoutMs, maxBufferBytes, keepsAnswers: this.keepsAnswers }
  }

  /** One that a policy has written in itself. */
  inPlace(backend: Backend, name: string, hostRewrite: HostRewrite): CompiledBackend {
    const compiled = this.#compile(backend, name, hostRewrite, this.#usedOnce)
    if (compiled.background !== undefined) this.#inPlace.push(compiled.background)
    return compiled
  }

  #service(backend: Backend, name: string): CompiledBackend {
    // Two that are written in place may be one server, and not be shown the same.
    const key = Object.hasOwn(this.#snapshot.backends, name) ? name : JSON.stringify(backend)
    const known = this.#services.get(key)
    if (known !== undefined) return known
    const compiled = this.#compile(backend, name, AS_SERVICE, this.#usedOnce)
    this.#services.set(key, compiled)
    return compiled
  }

  #compile(backend: Backend, name: string, hostRewrite: HostRewrite, uses: Map<string, UsedService>): CompiledBackend {
    const {
      upstream,
      fail,
      reply,
      inProcess,
      children,
      secret,
      revocations,
      worker = NO_WORKER,
      owners = null
    } = this.#deps
    const { bodies, log, offload, prices, state } = this.#deps.services
    const kind = this.#deps.backends.find((known) => known.kind === backend.kind)
    if (kind === undefined) return this.refuse(`backends.${name}`, `there is no kind of backend "${backend.kind}"`)
    const noting = notingBackground(upstream)
    const lent = {
      upstream: noting,
      addBackground: (work: Background) => noting.add(work),
      offload,
      fail,
      reply,
      inProcess,
      bodies,
      children,
      secret,
      revocations,
      owners,
      worker,
      prices,
      state,
      log,
      services: this.services.lend(backend.kind, uses)
    }
    const context = { name, hostRewrite, ...lent, ...this.#settings }
    refusedPolicies(backend.policies, `backends.${name}.policies`, this.#problems)
    try {
      return noting.noting(() => kind.compile(backend as never, context))
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      return this.refuse(`backends.${name}${pathInside(error.path)}`, error.message)
    }
  }

  /** Notes the problem. What is returned never serves: a Runtime with problems is not made. */
  refuse(path: string, message: string): CompiledBackend {
    this.#problems.push({ path, message })
    return { isUsable: () => false, serve: (ex) => this.#deps.fail(ex, 'INTERNAL') }
  }
}

/** Policies of this version act on routes; on a backend they would be read and ignored. */
function refusedPolicies(policies: PolicySet, path: string, problems: Problem[]): void {
  for (const name of Object.keys(policies)) {
    problems.push({ path: `${path}.${name}`, message: 'is not accepted on a backend' })
  }
}
