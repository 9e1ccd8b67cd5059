/** Snapshot -> Runtime: what a worker executes until the next configuration replaces it whole. */
import type { BackendContext, BackendKind, CompiledBackend, UpstreamClient } from '#engine/contract/backend.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { RouteSettings } from '#engine/contract/filter.ts'
import type { Policy, Workshop } from '#engine/contract/policy.ts'
import type { Recorder, Route, Router } from '#engine/contract/route.ts'
import type { Backend, PolicySet, RouteMatch, RouteSpec, Snapshot, WeightedBackend } from '#engine/ir/snapshot.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import { buildRouter, type RoutePlace } from '#engine/routing/router.ts'
import { PolicyCompiler, type RouteChain } from './policies.ts'
import { weighted } from './weighted.ts'

export interface RuntimeDeps {
  /** The registry, in run order. */
  readonly policies: readonly Policy[]
  /** What the thread lends to policies, beside what the configuration says. */
  readonly kept: Workshop['kept']
  readonly backends: readonly BackendKind[]
  readonly upstream: UpstreamClient
  readonly recorderFor: (route: string, listener: string, port: number) => Recorder
  /** Ends an exchange with the gateway's own reply. */
  readonly fail: (ex: Exchange, code: ErrorCode) => void
}

export interface Runtime extends Router {
  readonly snapshot: Snapshot
  /** What runs, for people: plain data without configuration values. */
  describe(): RuntimeDescription
}

export interface RuntimeDescription {
  readonly version: number
  readonly hash: string
  readonly acceptedAt: string
  readonly routes: readonly RouteDescription[]
}

export interface RouteDescription {
  readonly name: string
  readonly listener: string
  readonly port: number
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  /** Names in run order. */
  readonly policies: readonly string[]
  readonly settings: RouteSettings
  readonly backends: readonly { readonly backend: string; readonly weight: number }[]
}

/** The chain of a route, and what it was made for beside the route. */
interface KnownChain {
  readonly outer: PolicySet
  readonly maxBufferBytes: number
  readonly chain: RouteChain
}

/** Throws a ConfigError with every problem that shows only when the parts come together. */
export function buildRuntime(snapshot: Snapshot, deps: RuntimeDeps): Runtime {
  const builder = new Builder(snapshot, deps)
  const router = buildRouter(snapshot.binds, (spec, place) => builder.route(spec, place), builder.problems)
  if (builder.problems.length > 0) throw new ConfigError(builder.problems)
  const { version, hash, acceptedAt } = snapshot
  return Object.freeze({
    snapshot,
    route: (ex: Exchange) => router.route(ex),
    describe: () => ({ version, hash, acceptedAt, routes: builder.routes })
  })
}

class Builder {
  readonly problems: Problem[] = []
  readonly routes: RouteDescription[] = []
  readonly #snapshot: Snapshot
  readonly #deps: RuntimeDeps
  readonly #policies: PolicyCompiler
  readonly #chains: WeakMap<RouteSpec, KnownChain>
  /** By host rewriting mode and backend name. */
  readonly #backends = new Map<string, CompiledBackend>()

  constructor(snapshot: Snapshot, deps: RuntimeDeps) {
    this.#snapshot = snapshot
    this.#deps = deps
    const { maxBufferBytes } = snapshot.frontend.http
    this.#chains = deps.kept('build.chains', () => new WeakMap<RouteSpec, KnownChain>())
    this.#policies = new PolicyCompiler(deps.policies, { kept: deps.kept, maxBufferBytes }, this.problems)
  }

  route(spec: RouteSpec, place: RoutePlace): Route {
    const { port } = place
    const listener = this.#snapshot.binds[place.bind]!.listeners[place.listener]!
    const listenerPath = `binds[${place.bind}].listeners[${place.listener}]`
    const path = `${listenerPath}.routes[${place.route}]`
    const matches = spec.matches.map(compileMatch)
    const { names, requestHooks, responseHooks, settings } = this.#chain(spec, listener.policies, () =>
      this.#policies.chain(
        [
          { path: `${listenerPath}.policies`, policies: listener.policies },
          { path: `${path}.policies`, policies: spec.policies }
        ],
        matches
      )
    )
    this.routes.push({
      name: spec.name,
      listener: listener.name,
      port,
      hostnames: spec.hostnames,
      matches: spec.matches,
      policies: names,
      settings,
      backends: spec.backends.map(({ backend, weight }) => ({ backend, weight }))
    })
    return Object.freeze({
      name: spec.name,
      listener: listener.name,
      port,
      matches,
      requestHooks,
      responseHooks,
      settings,
      serve: this.#serve(spec.backends, settings, `${path}.backends`),
      recorder: this.#deps.recorderFor(spec.name, listener.name, port)
    })
  }

  /** The chain of an unchanged route is the one it had: its policies have compiled, and keep no state in it. */
  #chain(spec: RouteSpec, outer: PolicySet, make: () => RouteChain): RouteChain {
    const { maxBufferBytes } = this.#snapshot.frontend.http
    const before = this.#chains.get(spec)
    if (before?.outer === outer && before.maxBufferBytes === maxBufferBytes) return before.chain
    const problems = this.problems.length
    const chain = make()
    if (this.problems.length === problems) this.#chains.set(spec, { outer, maxBufferBytes, chain })
    return chain
  }

  #serve(references: readonly WeightedBackend[], settings: RouteSettings, path: string): Route['serve'] {
    // References of weight zero are compiled too: a mistake in them should not wait for their turn.
    const choices = references
      .map((reference, i) => {
        const { isUsable, serve } = this.#backend(reference, settings, `${path}[${i}]`)
        return { weight: reference.weight, isUsable, serve }
      })
      .filter((choice) => choice.weight > 0)
    const { fail } = this.#deps
    if (choices.length === 0) return (ex) => fail(ex, 'NO_BACKEND')
    return choices.length === 1 ? choices[0]!.serve : weighted(choices)
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

  #compileBackend(backend: Backend, name: string, settings: RouteSettings): CompiledBackend {
    const { upstream, fail } = this.#deps
    const kind = this.#deps.backends.find((known) => known.kind === backend.kind)
    if (kind === undefined) return this.#refuse(`backends.${name}`, `there is no kind of backend "${backend.kind}"`)
    const { connectTimeoutMs } = this.#snapshot.process.upstream
    const context: BackendContext = { name, hostRewrite: settings.hostRewrite, connectTimeoutMs, upstream, fail }
    return kind.compile(backend as never, context)
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
