/** Snapshot -> Runtime: what a worker executes until the next configuration replaces it whole. */
import type { CompiledBackend } from '#engine/contract/backend.ts'
import type { Background } from '#engine/contract/background.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import type { DialectFinder, Exchange } from '#engine/contract/exchange.ts'
import type { RetryPlan, RouteSettings } from '#engine/contract/filter.ts'
import type { ContentPlan } from '#engine/contract/kept-content.ts'
import type { HookOwners, ListenerParts, Recorder, Route, RouteMirror, RouteRetry } from '#engine/contract/route.ts'
import type { TcpTable } from '#engine/contract/tcp.ts'
import type { Tracer } from '#engine/contract/tracing.ts'
import { type Backend, type Listener, ownName, type RouteSpec, type Snapshot } from '#engine/ir/snapshot.ts'
import { RetryBudget } from '#engine/kit/retry-budget.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import { buildRouter, type ListenerIndex } from '#engine/routing/router.ts'
import { BackendCompiler } from './backend-compiler.ts'
import {
  type AroundRoutes,
  BuildCache,
  isAround,
  isSamePlace,
  type KnownListener,
  type KnownRoute,
  placesIn,
  type RouteContext,
  Standing
} from './build-cache.ts'
import { collectorsOf } from './collectors.ts'
import { described } from './described.ts'
import { drawing, withDrawing } from './drawn.ts'
import {
  type FrontendPlans,
  type Hooks,
  joined,
  type Level,
  type PlacedMirror,
  PolicyCompiler,
  type Reference,
  type RouteChain
} from './policies.ts'
import { type AnswerHooks, answerHooks, behindReference } from './references.ts'
import { withRequestId } from './request-id.ts'
import { NO_ROUTES, routeList } from './route-list.ts'
import type { RouteDescription, Runtime, RuntimeDeps } from './runtime-types.ts'
import { buildTcp } from './tcp.ts'
import { contentOf, flushOf, isRead, metricsOf, traced, tracerOf } from './tracing.ts'
import { loopedAt, withoutBackend } from './unserved.ts'
import type { RoutePart } from './used-parts.ts'
import { weighted } from './weighted.ts'

export type { RouteDescription, Runtime, RuntimeDeps, RuntimeDescription } from './runtime-types.ts'

/** Throws a ConfigError with every problem that shows only when the parts come together. */
export function buildRuntime(snapshot: Snapshot, deps: RuntimeDeps): Runtime {
  const builder = new Builder(snapshot, deps)
  const router = buildRouter(
    snapshot.binds,
    (place) => builder.listener(place),
    (specs) => builder.routes(specs),
    builder.problems,
    builder.routerCache
  )
  const tcp = builder.tcp()
  if (builder.problems.length > 0) throw new ConfigError(builder.problems)
  builder.keep()
  const { version, hash, acceptedAt } = snapshot
  return Object.freeze({
    snapshot,
    background: [...builder.background, ...tcp.background],
    route: traced((ex: Exchange) => router.route(ex), builder.tracer),
    ...builder.unrouted(),
    tcp,
    describe: () => ({ version, hash, acceptedAt, routes: builder.descriptions() })
  })
}

/** The phase that began first ends last. */
function ownersOf(owners: HookOwners, answers: AnswerHooks, preRouting: Hooks): HookOwners {
  const after = preRouting.hookOwners.response
  if (answers.owners.length + after.length === 0) return owners
  return { request: owners.request, response: [...answers.owners, ...owners.response, ...after] }
}

/** The listener whose routes are being built. */
interface Around extends AroundRoutes {
  readonly listener: Listener
  readonly port: number
}

class Builder {
  readonly problems: Problem[] = []
  readonly #snapshot: Snapshot
  readonly #deps: RuntimeDeps
  readonly #policies: PolicyCompiler
  /** Services that frontend policies ask are compiled before the plans are known: nothing of them is read. */
  #frontend: FrontendPlans = { log: null, tracing: null, metrics: null }
  /** Null: no request has a trace. */
  readonly tracer: Tracer | null
  /** Null: what is said is not kept with the records of calls. */
  readonly #content: ContentPlan | null
  readonly #cache: BuildCache
  readonly #build: number
  readonly #listeners = new Map<string, KnownListener>()
  /** The listener whose routes are being built, and what the configuration before had of it. */
  #listener: KnownListener | null = null
  #before: KnownListener | null = null
  #around: Around | null = null
  /** Of its backends, of the same listener. */
  #dialects: DialectFinder[] = []
  readonly #backends: BackendCompiler

  constructor(snapshot: Snapshot, deps: RuntimeDeps) {
    this.#snapshot = snapshot
    this.#deps = deps
    const { maxBufferBytes } = snapshot.frontend.http
    const collectors = collectorsOf(maxBufferBytes, deps.fail)
    const lent = { ...deps.services, maxBufferBytes }
    this.#cache = lent.state('build.policies', () => new BuildCache())
    this.#build = this.#cache.begin()
    const build = this.#build
    this.#backends = new BackendCompiler(snapshot, deps, this.problems, this.#cache.backends, build)
    const parts = { lent, collectors, services: this.#backends.services, cache: this.#cache.policies, build }
    this.#policies = new PolicyCompiler(deps.policies, parts, this.problems)
    const frontend = this.#policies.frontend(snapshot.gateway.frontend)
    const { log, tracing, metrics } = this.#cache.frontend
    const isSame = log === frontend.log && tracing === frontend.tracing && metrics === frontend.metrics
    this.#frontend = isSame ? this.#cache.frontend : frontend
    this.#content = contentOf(snapshot, deps)
    this.#backends.keepsAnswers = isRead(this.#frontend, 'readsAnswers') || this.#content !== null
    this.tracer = tracerOf(this.#frontend, deps, this.#content)
  }

  get routerCache() {
    return this.#cache.router
  }

  /** What has left the configuration is forgotten. */
  keep(): void {
    this.#policies.keep()
    this.#cache.listeners = this.#listeners
    // Not before: the routes that run are not where a configuration has them that is refused.
    for (const { around, list } of this.#listeners.values()) {
      const { routes, moved, used } = list
      const [from, until] = moved
      for (let i = from; i < until; i++) routes[i]!.standing.move(around, i)
      used.keep()
    }
    this.#cache.frontend = this.#frontend
    this.#backends.keep(this.#cache.backends)
  }

  get background(): readonly Background[] {
    const exports = [...flushOf(this.tracer), ...metricsOf(this.#frontend, this.#deps)]
    return [...new Set([...this.#policies.background, ...this.#backends.background, ...exports])]
  }

  descriptions(): readonly RouteDescription[] {
    return [...this.#listeners.values()].flatMap(({ list: { specs, routes } }) =>
      specs.map((spec, i) => described(spec, routes[i]!))
    )
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
    const { port } = place
    const { gateway, binds } = this.#snapshot
    const listener = binds[place.bind]!.listeners[place.listener]!
    const { name } = listener
    const path = `binds[${place.bind}].listeners[${place.listener}]`
    const places = this.#deps.places ?? null
    const pre: readonly Level[] = [
      { path: 'gateway.preRouting', attachment: 'pre', policies: gateway.preRouting },
      { path: `${path}.preRouting`, attachment: `pre ${port} ${name}`, policies: listener.preRouting }
    ]
    const levels: readonly Level[] = [
      { path: 'gateway.policies', attachment: '', policies: gateway.policies },
      { path: `${path}.policies`, attachment: `${port} ${name}`, policies: listener.policies }
    ]
    this.#around = { levels, path, places, listener, port }
    const { requestId } = this.#snapshot.frontend.http
    const known = this.#begin(port, name, pre)
    const recorder = this.#deps.recorderFor({ route: '', listener: name, port }, this.#frontend.log)
    const dialects: DialectFinder[] = []
    this.#dialects = dialects
    const dialect: DialectFinder = (ex, isRouted) => {
      for (const find of dialects) {
        const found = find(ex, isRouted)
        if (found !== null) return found
      }
      return null
    }
    const also = { dialect, recorder, ...placesIn(pre, places), ...(requestId === undefined ? {} : { requestId }) }
    return { name, port, ...known.context.preRouting, ...also }
  }

  /** The listener whose routes come next. */
  #begin(port: number, name: string, levels: readonly Level[]): KnownListener {
    const key = `${port} ${name}`
    const { requestId } = this.#snapshot.frontend.http
    const policies = levels.map((level) => level.policies)
    const before = this.#cache.listeners.get(key) ?? null
    const isSame =
      before !== null &&
      before.requestId === requestId &&
      isSameList(before.policies, policies) &&
      this.#policies.adopt(before.made)
    const hooks = isSame ? null : this.#policies.preRouting(levels)
    const preRouting = hooks === null ? before!.context.preRouting : withRequestId(hooks, requestId)
    const made = hooks === null ? before!.made : hooks.made
    const context = this.#context(preRouting, before)
    this.#before = before
    const { levels: around, path, places } = this.#around!
    const place = { levels: around, path, places }
    const isInPlace = before !== null && isSamePlace(before.around, place)
    const list = NO_ROUTES
    this.#listener = { policies, requestId, made, context, around: isInPlace ? before.around : place, list }
    this.#listeners.set(key, this.#listener)
    return this.#listener
  }

  /** The same object as before where nothing of it has changed. */
  #context(preRouting: Hooks, before: KnownListener | null): RouteContext {
    const policies = this.#around!.levels.map((level) => level.policies)
    const { maxBufferBytes } = this.#snapshot.frontend.http
    const context = { policies, maxBufferBytes, preRouting, frontend: this.#frontend }
    const isSame =
      before !== null &&
      isAround(before.context, context) &&
      before.context.preRouting === preRouting &&
      before.context.frontend === this.#frontend
    return isSame ? before.context : context
  }

  /** Those of the listener that was built last, in their order. */
  routes(specs: readonly RouteSpec[]): readonly Route[] {
    const listener = this.#listener!
    const isAsBefore = this.#before?.context === listener.context && this.#backends.isOfBefore
    listener.list = routeList(this.#before?.list ?? NO_ROUTES, specs, {
      stays: isAsBefore ? (part) => this.#stays(part) : null,
      take: (part) => {
        part.usedIn = this.#build
      },
      make: (spec, index, known) => this.#route(spec, index, known)
    })
    this.#dialects.push(...listener.list.dialects)
    return listener.list.served
  }

  /** Whether a part of a route would be made the same again. */
  #stays(part: RoutePart): boolean {
    return part.usedIn === this.#build || ('policy' in part ? this.#policies.stays(part) : this.#backends.stays(part))
  }

  #route(spec: RouteSpec, index: number, known: KnownRoute | undefined): KnownRoute {
    if (known === undefined) return this.#made(spec, index, null)
    return this.#isSame(known) ? known : this.#made(spec, index, this.#holds(known) ? known.chain : null)
  }

  /** Whether all that a route was made of is what it was. */
  #isSame({ context, isMovable, parts }: KnownRoute): boolean {
    if (context !== this.#listener!.context || !isMovable || !this.#backends.isOfBefore) return false
    if (!parts.every((part) => this.#stays(part))) return false
    for (const part of parts) part.usedIn = this.#build
    return true
  }

  /** Whether the policies around a route, and its own, give what they gave. */
  #holds({ context, chain }: KnownRoute): boolean {
    // Where mirrors stand is a part of them.
    return chain.mirrors.length === 0 && isAround(context, this.#listener!.context) && this.#policies.adopt(chain.made)
  }

  #made(spec: RouteSpec, index: number, known: RouteChain | null): KnownRoute {
    const { name, rule = '' } = spec
    const around = this.#around!
    const { listener, port } = around
    const standing = new Standing(this.#listener!.around, index, spec.policies)
    const { path } = standing
    const matches = spec.matches.map(compileMatch)
    const attachment = `${port} ${listener.name} ${ownName(spec)}`
    const levels = [...around.levels, { path: `${path}.policies`, attachment, policies: spec.policies }]
    const chain = known ?? this.#policies.chain(levels, matches)
    const { settings, retry, mirrors, readsTimes, readsRouting } = chain
    const { context } = this.#listener!
    const { preRouting } = context
    const references = this.#policies.references(spec.backends, { path, attachment }, matches, settings)
    const answers = answerHooks(references)
    const served = this.#serve(spec, references, `${path}.backends`)
    const asksModels = this.#backends.askModels(spec)
    const { serve, retry: backendRetry, dialect, keyLocations, keepsRequest, drawn } = served
    const { requestHooks, responseHooks, hookOwners } = drawn === null ? chain : withDrawing(chain, drawn)
    const route: Route = Object.freeze({
      name,
      rule,
      listener: listener.name,
      port,
      matches,
      requestHooks,
      // The phase that began first ends last.
      responseHooks: joined(joined(answers.hooks, responseHooks), preRouting.responseHooks),
      hookOwners: ownersOf(hookOwners, answers, preRouting),
      settings,
      retry: this.#retry(retry ?? backendRetry),
      mirrors: this.#mirrors(mirrors, spec, settings),
      ...standing.of,
      serve,
      dialect,
      keyLocations,
      isTimed: readsTimes || isRead(this.#frontend, 'readsTimes'),
      readsRouting: readsRouting || isRead(this.#frontend, 'readsRouting'),
      keepsRequest: keepsRequest || isRead(this.#frontend, 'readsRequests') || (asksModels && this.#content !== null),
      recorder: this.#deps.recorderFor(
        { route: name, rule, listener: listener.name, port, asksModels },
        this.#frontend.log,
        this.#content?.read
      )
    })
    const backends = spec.backends.flatMap(
      ({ backend }, i) => this.#backends.named(backend, references[i]!.settings.hostRewrite) ?? []
    )
    const isMovable = [chain, ...references].every((one) => one.mirrors.length === 0)
    const parts = [...new Set([...chain.made, ...references.flatMap((one) => one.made), ...backends])]
    return { context, chain, parts, isMovable, route, dialect, standing }
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
      ? this.#backend(backend, settings, `${path}.backend`)
      : this.#backends.inPlace(mirror as Backend, backend, settings.hostRewrite)
    const recorder = this.#deps.mirrorRecorderFor(spec.name)
    const { maxBufferBytes } = this.#snapshot.frontend.http
    const looped = loopedAt(this.#deps, recorder, spec.name, backend)
    return { backend, share, serve, recorder, looped, waitingBytesMax: maxBufferBytes, load: { copies: 0 } }
  }

  /** Sends to one of the backends; with the plan of the first that has one for trying again. */
  #serve(spec: RouteSpec, references: readonly Reference[], path: string) {
    // References of weight zero are compiled too: a mistake in them should not wait for their turn.
    const choices = spec.backends
      .map(({ weight, backend: name }, i) => ({
        name,
        weight,
        waiting: references[i]!.waiting,
        ...this.#behind(references[i]!, spec, i, path)
      }))
      .filter((choice) => choice.weight > 0)
    const retry = choices.find((choice) => choice.retry != null)?.retry ?? null
    const dialect = choices.find((choice) => choice.dialect !== undefined)?.dialect ?? null
    const [first] = choices
    const drawn = drawing(choices)
    const keyLocations = choices.every((choice) => choice.keyLocations === first?.keyLocations)
      ? (first?.keyLocations ?? null)
      : null
    const keepsRequest = choices.some((choice) => choice.keepsRequest === true)
    const also = { retry, dialect, keyLocations, keepsRequest, drawn }
    if (first === undefined) return { serve: withoutBackend(this.#deps), ...also }
    if (drawn !== null) return { serve: drawn.serve, ...also }
    return { serve: choices.length === 1 ? first.serve : weighted(choices), ...also }
  }

  #behind({ hooks, mirrors, settings }: Reference, spec: RouteSpec, index: number, path: string): CompiledBackend {
    const compiled = this.#backend(spec.backends[index]!.backend, settings, `${path}[${index}]`)
    if (hooks === null) return compiled
    return behindReference(compiled, hooks, this.#mirrors(mirrors, spec, settings), this.#deps)
  }

  #backend(name: string, { hostRewrite }: RouteSettings, path: string): CompiledBackend {
    return (
      this.#backends.named(name, hostRewrite)?.compiled ?? this.#backends.refuse(path, `there is no backend "${name}"`)
    )
  }
}
