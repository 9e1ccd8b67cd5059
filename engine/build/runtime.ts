/** Snapshot -> Runtime: what a worker executes until the next configuration replaces it whole. */
import type { CompiledBackend } from '#engine/contract/backend.ts'
import { collectRequest, collectResponse } from '#engine/contract/body.ts'
import { collectRequestPrefix, collectResponsePrefix } from '#engine/contract/body-prefix.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import type { DialectFinder, Exchange } from '#engine/contract/exchange.ts'
import type { Background, RetryPlan, RouteSettings } from '#engine/contract/filter.ts'
import { FieldError } from '#engine/contract/policy.ts'
import type {
  CompiledMatch,
  ListenerParts,
  PolicyPlaces,
  Recorder,
  Route,
  RouteMirror,
  RouteRetry
} from '#engine/contract/route.ts'
import type { ServiceRecorder } from '#engine/contract/service.ts'
import type { TcpTable } from '#engine/contract/tcp.ts'
import type { Tracer } from '#engine/contract/tracing.ts'
import { type Backend, ownName, type RouteSpec, type Snapshot, type WeightedBackend } from '#engine/ir/snapshot.ts'
import { RetryBudget } from '#engine/kit/retry-budget.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import { buildRouter, type ListenerIndex, type RouteIndex } from '#engine/routing/router.ts'
import { notingBackground } from './endpoint-background.ts'
import {
  type FrontendPlans,
  type Hooks,
  joined,
  type Level,
  type PlacedMirror,
  type PolicyCache,
  PolicyCompiler,
  pathInside,
  type RouteChain
} from './policies.ts'
import { withRequestId } from './request-id.ts'
import type { RouteDescription, Runtime, RuntimeDeps } from './runtime-types.ts'
import { ServiceTable, type UsedService } from './services.ts'
import { buildTcp } from './tcp.ts'
import { flushOf, isRead, metricsOf, traced, tracerOf } from './tracing.ts'
import { weighted } from './weighted.ts'

export type { RouteDescription, Runtime, RuntimeDeps, RuntimeDescription } from './runtime-types.ts'

/** Where a configuration is only looked at. */
const NO_WORKER = { index: -1, count: 1 }

const NOT_RECORDED: ServiceRecorder = { record() {} }

const SERVICE_SETTINGS: RouteSettings = { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'auto' }

const LEADS_BACK = 'leads back here: copies that return are not copied again'

/** The chain of a route, and what it was made for beside the route. */
interface KnownChain {
  readonly levels: readonly Level[]
  readonly maxBufferBytes: number
  readonly chain: RouteChain
}

/** Throws a ConfigError with every problem that shows only when the parts come together. */
export function buildRuntime(snapshot: Snapshot, deps: RuntimeDeps): Runtime {
  const builder = new Builder(snapshot, deps)
  const router = buildRouter(
    snapshot.binds,
    (place) => builder.listener(place),
    (spec, place) => builder.route(spec, place),
    builder.problems
  )
  const tcp = builder.tcp()
  if (builder.problems.length > 0) throw new ConfigError(builder.problems)
  builder.keep()
  const { version, hash, acceptedAt } = snapshot
  return Object.freeze({
    snapshot,
    background: builder.background,
    route: traced((ex: Exchange) => router.route(ex), builder.tracer),
    ...builder.unrouted(),
    tcp,
    describe: () => ({ version, hash, acceptedAt, routes: builder.routes })
  })
}

/** What the next configuration may take over from the last one that was built without a mistake. */
class BuildCache {
  policies: PolicyCache = new Map()
  chains = new WeakMap<RouteSpec, KnownChain>()
}

class Builder {
  readonly problems: Problem[] = []
  readonly routes: RouteDescription[] = []
  readonly #snapshot: Snapshot
  readonly #deps: RuntimeDeps
  readonly #policies: PolicyCompiler
  /** Services that frontend policies ask are compiled before the plans are known: nothing of them is read. */
  #frontend: FrontendPlans = { log: null, tracing: null, metrics: null }
  /** Null: no request has a trace. */
  readonly tracer: Tracer | null
  readonly #cache: BuildCache
  readonly #chains = new WeakMap<RouteSpec, KnownChain>()
  /** Of the phase PreRouting, of the listener whose routes are being built. */
  #preRouting: Hooks = { requestHooks: null, responseHooks: null, hookOwners: { request: [], response: [] } }
  /** Of its backends, of the same listener. */
  #dialects: DialectFinder[] = []
  readonly #background: Background[] = []
  readonly #services: ServiceTable
  readonly #usedByBackends = new Map<string, UsedService>()
  /** By host rewriting mode and backend name. */
  readonly #backends = new Map<string, CompiledBackend>()

  constructor(snapshot: Snapshot, deps: RuntimeDeps) {
    this.#snapshot = snapshot
    this.#deps = deps
    const { maxBufferBytes } = snapshot.frontend.http
    const collectors = {
      request: collectRequest(maxBufferBytes),
      response: collectResponse(maxBufferBytes, deps.fail),
      requestPrefix: collectRequestPrefix(maxBufferBytes),
      responsePrefix: collectResponsePrefix(maxBufferBytes, deps.fail)
    }
    const lent = { ...deps.services, maxBufferBytes }
    this.#services = new ServiceTable({
      backends: snapshot.backends,
      kinds: deps.backends,
      inProcess: deps.inProcess,
      recorderFor: deps.serviceRecorderFor ?? (() => NOT_RECORDED),
      compile: (backend, name) => this.#service(backend, name)
    })
    this.#cache = lent.state('build.policies', () => new BuildCache())
    const parts = { lent, collectors, services: this.#services }
    this.#policies = new PolicyCompiler(deps.policies, parts, this.problems, this.#cache.policies)
    this.#frontend = this.#policies.frontend(snapshot.gateway.frontend)
    this.tracer = tracerOf(this.#frontend, deps)
  }

  /** What has left the configuration is forgotten. */
  keep(): void {
    this.#cache.policies = this.#policies.cache
    this.#cache.chains = this.#chains
  }

  get background(): readonly Background[] {
    const services = [...this.#usedByBackends.values()].flatMap(({ compiled }) => compiled.background ?? [])
    const exports = [...flushOf(this.tracer), ...metricsOf(this.#frontend, this.#deps)]
    return [...new Set([...this.#policies.background, ...this.#background, ...services, ...exports])]
  }

  /** Without a plan for the log, the thread's own recorder of such exchanges does. */
  unrouted(): { unrouted?: Recorder } {
    return this.#frontend.log === null
      ? {}
      : { unrouted: this.#deps.recorderFor({ route: '', listener: '', port: 0 }, this.#frontend.log) }
  }

  /** The listeners with TCP behind them. */
  tcp(): TcpTable {
    return buildTcp(this.#snapshot, this.#deps, this.#frontend.log, this.problems)
  }

  listener(place: ListenerIndex): ListenerParts {
    const { gateway, binds } = this.#snapshot
    const { name, preRouting } = binds[place.bind]!.listeners[place.listener]!
    const levels: readonly Level[] = [
      { path: 'gateway.preRouting', attachment: 'pre', policies: gateway.preRouting },
      {
        path: `binds[${place.bind}].listeners[${place.listener}].preRouting`,
        attachment: `pre ${place.port} ${name}`,
        policies: preRouting
      }
    ]
    const { requestId } = this.#snapshot.frontend.http
    this.#preRouting = withRequestId(this.#policies.preRouting(levels), requestId)
    const recorder = this.#deps.recorderFor({ route: '', listener: name, port: place.port }, this.#frontend.log)
    const dialects: DialectFinder[] = []
    this.#dialects = dialects
    const dialect: DialectFinder = (ex, isRouted) => {
      for (const find of dialects) {
        const found = find(ex, isRouted)
        if (found !== null) return found
      }
      return null
    }
    const also = { dialect, recorder, ...this.#placesIn(levels), ...(requestId === undefined ? {} : { requestId }) }
    return { name, port: place.port, ...this.#preRouting, ...also }
  }

  route(spec: RouteSpec, place: RouteIndex): Route {
    const { port } = place
    const { name, rule = '' } = spec
    const listener = this.#snapshot.binds[place.bind]!.listeners[place.listener]!
    const listenerPath = `binds[${place.bind}].listeners[${place.listener}]`
    const path = `${listenerPath}.routes[${place.route}]`
    const matches = spec.matches.map(compileMatch)
    const levels: readonly Level[] = [
      { path: 'gateway.policies', attachment: '', policies: this.#snapshot.gateway.policies },
      { path: `${listenerPath}.policies`, attachment: `${port} ${listener.name}`, policies: listener.policies },
      { path: `${path}.policies`, attachment: `${port} ${listener.name} ${ownName(spec)}`, policies: spec.policies }
    ]
    const chain = this.#chain(spec, levels, matches)
    const { names, requestHooks, responseHooks, hookOwners, settings, retry, mirrors, readsTimes } = chain
    const served = this.#serve(spec.backends, settings, `${path}.backends`)
    const { serve, retry: backendRetry, dialect, keyLocations, keepsRequest } = served
    this.routes.push({
      name,
      ...(rule === '' ? {} : { rule }),
      listener: listener.name,
      port,
      hostnames: spec.hostnames,
      matches: spec.matches,
      policies: names,
      settings,
      backends: spec.backends.map(({ backend, weight }) => ({ backend, weight }))
    })
    return Object.freeze({
      name,
      rule,
      listener: listener.name,
      port,
      matches,
      requestHooks,
      // The phase that began first ends last.
      responseHooks: joined(responseHooks, this.#preRouting.responseHooks),
      hookOwners: {
        request: hookOwners.request,
        response: [...hookOwners.response, ...this.#preRouting.hookOwners.response]
      },
      settings,
      retry: this.#retry(retry ?? backendRetry),
      mirrors: this.#mirrors(mirrors, spec, settings),
      ...this.#placesIn(levels),
      serve,
      dialect,
      keyLocations,
      isTimed: readsTimes || isRead(this.#frontend, 'readsTimes'),
      keepsRequest: keepsRequest || isRead(this.#frontend, 'readsRequests'),
      recorder: this.#deps.recorderFor({ route: name, rule, listener: listener.name, port }, this.#frontend.log)
    })
  }

  #placesIn(levels: readonly Level[]): PolicyPlaces {
    const { places = null } = this.#deps
    return {
      placesOf: (policy) =>
        levels.filter(({ policies }) => policies[policy] !== undefined).map(({ path }) => `${path}.${policy}`),
      sourceOf: (path) => places?.find(path) ?? null
    }
  }

  /** The chain of an unchanged route is the one it had, with the caches that its policies have. */
  #chain(spec: RouteSpec, levels: readonly Level[], matches: readonly CompiledMatch[]): RouteChain {
    const { maxBufferBytes } = this.#snapshot.frontend.http
    const known = this.#cache.chains.get(spec)
    const isSame =
      known?.maxBufferBytes === maxBufferBytes &&
      this.#policies.holds(known.chain.made) &&
      levels.every(({ path, attachment, policies }, i) => {
        const before = known.levels[i]!
        return before.path === path && before.attachment === attachment && before.policies === policies
      })
    if (isSame) this.#policies.adopt(known.chain.made)
    const chain = isSame ? known.chain : this.#policies.chain(levels, matches)
    this.#chains.set(spec, isSame ? known : { levels, maxBufferBytes, chain })
    return chain
  }

  #retry(plan: RetryPlan | null): RouteRetry | null {
    if (plan === null) return null
    const { maxBufferBytes } = this.#snapshot.frontend.http
    return { plan, budget: new RetryBudget(plan.budget), bodyBytesMax: maxBufferBytes }
  }

  #mirrors(placed: readonly PlacedMirror[], spec: RouteSpec, settings: RouteSettings): RouteMirror[] | null {
    // Mirrors that get nothing are compiled too: a mistake in them should not wait for their turn.
    const mirrors = placed.map((one) => this.#mirror(one, spec, settings)).filter(({ share }) => share > 0)
    return mirrors.length === 0 ? null : mirrors
  }

  #mirror({ plan, path }: PlacedMirror, spec: RouteSpec, settings: RouteSettings): RouteMirror {
    const { backend: mirror, share } = plan
    const isNamed = typeof mirror === 'string'
    // What the policy has written in itself is a backend like those of the configuration.
    const backend = isNamed ? mirror : `${ownName(spec)}/mirror`
    const { serve } = isNamed
      ? this.#backend({ backend, weight: 1, policies: {} }, settings, `${path}.backend`)
      : this.#compileBackend(mirror as Backend, backend, settings)
    const recorder = this.#deps.mirrorRecorderFor(spec.name)
    const { maxBufferBytes } = this.#snapshot.frontend.http
    let isLogged = false
    const looped = (): void => {
      recorder.dropped(backend)
      if (!isLogged) this.#deps.services.log('warn', `route ${spec.name}: the mirror ${backend} ${LEADS_BACK}`)
      isLogged = true
    }
    return { backend, share, serve, recorder, looped, waitingBytesMax: maxBufferBytes, load: { copies: 0 } }
  }

  /** Sends to one of the backends; with the plan of the first that has one for trying again. */
  #serve(references: readonly WeightedBackend[], settings: RouteSettings, path: string) {
    // References of weight zero are compiled too: a mistake in them should not wait for their turn.
    const choices = references
      .map((reference, i) => {
        const { weight, backend: name } = reference
        return { name, weight, ...this.#backend(reference, settings, `${path}[${i}]`) }
      })
      .filter((choice) => choice.weight > 0)
    const { fail } = this.#deps
    const retry = choices.find((choice) => choice.retry != null)?.retry ?? null
    const dialect = choices.find((choice) => choice.dialect !== undefined)?.dialect ?? null
    if (dialect !== null && !this.#dialects.includes(dialect)) this.#dialects.push(dialect)
    const [first] = choices
    const keyLocations = choices.every((choice) => choice.keyLocations === first?.keyLocations)
      ? (first?.keyLocations ?? null)
      : null
    const keepsRequest = choices.some((choice) => choice.keepsRequest === true)
    const also = { retry, dialect, keyLocations, keepsRequest }
    if (first === undefined) return { serve: (ex: Exchange) => fail(ex, 'NO_BACKEND'), ...also }
    return { serve: choices.length === 1 ? first.serve : weighted(choices), ...also }
  }

  #backend(reference: WeightedBackend, settings: RouteSettings, path: string): CompiledBackend {
    const { backend: name } = reference
    const { backends } = this.#snapshot
    const backend = Object.hasOwn(backends, name) ? backends[name] : undefined
    if (backend === undefined) return this.#refuse(path, `there is no backend "${name}"`)
    this.#refusePolicies(reference.policies, `${path}.policies`)
    const key = `${settings.hostRewrite} ${name}`
    const known = this.#backends.get(key)
    if (known !== undefined) return known
    this.#refusePolicies(backend.policies, `backends.${name}.policies`)
    const compiled = this.#compileBackend(backend, name, settings)
    this.#backends.set(key, compiled)
    return compiled
  }

  /** A backend as a service: its name is the host, since no client has asked for another. */
  #service(backend: Backend, name: string): CompiledBackend {
    // Two that are written in place may be one server, and not be shown the same.
    const key = `service ${Object.hasOwn(this.#snapshot.backends, name) ? name : JSON.stringify(backend)}`
    const known = this.#backends.get(key)
    if (known !== undefined) return known
    const compiled = this.#compileKind(backend, name, SERVICE_SETTINGS)
    this.#backends.set(key, compiled)
    return compiled
  }

  #compileBackend(backend: Backend, name: string, settings: RouteSettings): CompiledBackend {
    const compiled = this.#compileKind(backend, name, settings)
    if (compiled.background !== undefined) this.#background.push(compiled.background)
    return compiled
  }

  #compileKind(backend: Backend, name: string, settings: RouteSettings): CompiledBackend {
    const { upstream, fail, reply, inProcess, children, secret, revocations, worker = NO_WORKER } = this.#deps
    const { log, offload, state } = this.#deps.services
    const kind = this.#deps.backends.find((known) => known.kind === backend.kind)
    if (kind === undefined) return this.#refuse(`backends.${name}`, `there is no kind of backend "${backend.kind}"`)
    const { connectTimeoutMs } = this.#snapshot.process.upstream
    const { maxBufferBytes } = this.#snapshot.frontend.http
    const { hostRewrite } = settings
    const keepsAnswers = isRead(this.#frontend, 'readsAnswers')
    const services = this.#services.lend(backend.kind, this.#usedByBackends)
    const noting = notingBackground(upstream)
    const lent = {
      upstream: noting,
      addBackground: (work: Background) => noting.add(work),
      offload,
      fail,
      reply,
      inProcess,
      children,
      secret,
      revocations,
      worker,
      state,
      log,
      services
    }
    const context = { name, hostRewrite, connectTimeoutMs, maxBufferBytes, ...lent, keepsAnswers }
    try {
      return noting.noting(() => kind.compile(backend as never, context))
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      return this.#refuse(`backends.${name}${pathInside(error.path)}`, error.message)
    }
  }

  /** Policies of this version act on routes; on a backend they would be read and ignored. */
  #refusePolicies(policies: WeightedBackend['policies'], path: string): void {
    for (const name of Object.keys(policies)) this.#refuse(`${path}.${name}`, 'is not accepted on a backend')
  }

  /** Notes the problem. What is returned never serves: a Runtime with problems is not made. */
  #refuse(path: string, message: string): CompiledBackend {
    this.problems.push({ path, message })
    return { isUsable: () => false, serve: (ex) => this.#deps.fail(ex, 'INTERNAL') }
  }
}
