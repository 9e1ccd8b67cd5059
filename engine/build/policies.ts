/** Policies of a route -> hooks and settings, each distinct configuration compiled once. */
import { isDeepStrictEqual } from 'node:util'
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import type { Background } from '#engine/contract/background.ts'
import type { Problem } from '#engine/contract/config-error.ts'
import type { Hook, RetryPlan, RouteSettings } from '#engine/contract/filter.ts'
import type { MirrorPlan } from '#engine/contract/mirror.ts'
import type { MetricsPlan } from '#engine/contract/otlp.ts'
import {
  type CompileContext,
  type Compiled,
  FieldError,
  type Policy,
  type PolicyServices
} from '#engine/contract/policy.ts'
import type { CompiledMatch, HookOwner, HookOwners } from '#engine/contract/route.ts'
import type { TracingPlan } from '#engine/contract/tracing.ts'
import { mergePolicies } from '#engine/ir/merge.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import { type CompiledPolicy, PolicyCache } from './policy-cache.ts'
import type { ServiceTable, UsedService } from './services.ts'

/** Policies of one attachment point and where it stands in the configuration. */
export interface Level {
  readonly path: string
  /** Names it over reloads, which may move it to another path. */
  readonly attachment: string
  readonly policies: PolicySet
}

/** Null where there are none. */
export interface Hooks {
  readonly requestHooks: readonly Hook[] | null
  /** Last policy first. */
  readonly responseHooks: readonly Hook[] | null
  /** Whose they are. */
  readonly hookOwners: HookOwners
}

/** `path`: of the policy that asks for it. */
export interface PlacedMirror {
  readonly plan: MirrorPlan
  readonly path: string
}

export interface RouteChain extends Hooks {
  /** Names in run order. */
  readonly names: readonly string[]
  readonly settings: RouteSettings
  readonly retry: RetryPlan | null
  readonly mirrors: readonly PlacedMirror[]
  readonly readsTimes: boolean
  readonly readsRouting: boolean
  /** Of what it was made: an unchanged route hands them on (PolicyCompiler.adopt). */
  readonly made: readonly CompiledPolicy[]
}

/** Policies of a reference to a backend; null: there are none. */
export interface Reference {
  readonly hooks: Hooks | null
  /** Of policies that take time (Policy.atReferences); null: there are none. */
  readonly waiting: Hooks | null
  readonly made: readonly CompiledPolicy[]
  /** Of the requests that go there. */
  readonly mirrors: readonly PlacedMirror[]
  /** Of the route, for requests that go there. */
  readonly settings: RouteSettings
}

/** The waiting step of each side. */
export interface Collectors {
  readonly request: Hook
  readonly response: Hook
  readonly requestPrefix: Hook
  readonly responsePrefix: Hook
}

/** Null: no policy says anything. */
export interface FrontendPlans {
  readonly log: AccessLogPlan | null
  readonly tracing: TracingPlan | null
  readonly metrics: MetricsPlan | null
}

/** The part of CompileContext that is not the same for every policy. */
type CompiledFor = Pick<CompileContext, 'matches' | 'attachment'>

/** What the compiler is lent. */
export interface CompilerParts {
  readonly lent: PolicyServices
  readonly services: ServiceTable
  readonly collectors: Collectors
  readonly cache: PolicyCache
  /** Number of this build. */
  readonly build: number
}

export class PolicyCompiler {
  readonly #policies: readonly Policy[]
  readonly #accumulating: ReadonlySet<string>
  readonly #lent: PolicyServices
  readonly #services: ServiceTable
  readonly #collectors: Collectors
  readonly #problems: Problem[]
  readonly #cache: PolicyCache
  readonly #build: number
  /** What the configuration before did not have: of one that is refused nothing stays. */
  readonly #fresh = new PolicyCache()
  /** The last one that ends with this policy: routes with the same policies share it. */
  readonly #chains = new Map<CompiledPolicy | undefined, RouteChain>()

  /** `policies`: the registry, in run order. Problems are appended to `problems`. */
  constructor(
    policies: readonly Policy[],
    { lent, services, collectors, cache, build }: CompilerParts,
    problems: Problem[]
  ) {
    this.#cache = cache
    this.#build = build
    this.#collectors = collectors
    this.#policies = policies
    this.#accumulating = new Set(policies.filter((policy) => policy.accumulates).map((policy) => policy.name))
    this.#lent = lent
    this.#services = services
    this.#problems = problems
  }

  /** What no part of the configuration uses any more is forgotten. */
  keep(): void {
    this.#cache.keep(this.#build, this.#fresh)
  }

  /** Takes over what a chain of the configuration before was made of, if it would be made the same again. */
  adopt(made: readonly CompiledPolicy[]): boolean {
    for (const one of made) {
      if (one.usedIn === this.#build) continue
      if (!this.stays(one)) return false
      one.usedIn = this.#build
    }
    return true
  }

  /** Whether it would be made the same again. */
  stays({ uses }: CompiledPolicy): boolean {
    return uses.size === 0 || this.#services.has(uses)
  }

  /** What the compiled policies do beside requests, and the services that they ask, each once: after `keep`. */
  get background(): Background[] {
    const found = new Set<Background>()
    for (const { compiled, uses } of this.#cache.all()) {
      if (compiled.background !== undefined) found.add(compiled.background)
      for (const { compiled: service } of uses.values()) {
        if (service.background !== undefined) found.add(service.background)
      }
    }
    return [...found]
  }

  /** The chain of a route; `levels` come least precise first. */
  chain(levels: readonly Level[], matches: readonly CompiledMatch[]): RouteChain {
    const { names, made, forms, pathOf } = this.#forms(levels, matches)
    const last = made.at(-1)
    const known = this.#chains.get(last)
    if (known !== undefined && isSameList(known.made, made)) return known
    const chain: RouteChain = {
      names,
      made,
      ...hooksOf(made, this.#collectors),
      retry: forms.find((form) => form.retry !== undefined)?.retry ?? null,
      mirrors: mirrorsOf(forms, (i) => pathOf(names[i]!)),
      readsTimes: forms.some((form) => form.readsTimes === true),
      readsRouting: forms.some((form) => form.readsRouting === true),
      settings: settingsOf(forms)
    }
    // Where mirrors stand is a part of them.
    if (chain.mirrors.length === 0) this.#chains.set(last, chain)
    return chain
  }

  /** What stands at the references of a route to backends. `settings`: those of the route. */
  references(
    all: readonly { readonly policies: PolicySet }[],
    { path, attachment }: Omit<Level, 'policies'>,
    matches: readonly CompiledMatch[],
    settings: RouteSettings
  ): Reference[] {
    return all.map(({ policies }, i) => {
      const level = { path: `${path}.backends[${i}].policies`, attachment: `${attachment} ${i}`, policies }
      return this.#reference(level, matches, settings)
    })
  }

  #reference(level: Level, matches: readonly CompiledMatch[], route: RouteSettings): Reference {
    const names = Object.keys(level.policies)
    if (names.length === 0) return route === DEFAULT_SETTINGS ? PLAIN : { ...PLAIN, settings: route }
    const refused = names.filter((name) => this.#policies.find((one) => one.name === name)?.atReferences === undefined)
    for (const name of refused)
      this.#problems.push({ path: `${level.path}.${name}`, message: 'is not accepted on a backend' })
    const { made, forms, names: inOrder, pathOf } = this.#forms([level], matches)
    const mirrors = mirrorsOf(forms, (i) => pathOf(inOrder[i]!))
    const settings: RouteSettings = Object.assign({ ...route }, ...forms.map((form) => form.settings))
    const [waiting, deciding] = partition(made, ({ policy }) => policy.atReferences === 'waits')
    return {
      hooks: deciding.length === 0 ? null : hooksOf(deciding, this.#collectors),
      waiting: waiting.length === 0 ? null : hooksOf(waiting, this.#collectors),
      made,
      mirrors,
      settings: Object.freeze(settings)
    }
  }

  /** The hooks of a listener that run before routing: of these levels too the least precise comes first. */
  preRouting(levels: readonly Level[]): Hooks & Pick<RouteChain, 'made'> {
    const { forms, made, names, pathOf } = this.#forms(levels, [])
    forms.forEach((form, i) => {
      if (!needsRoute(form)) return
      this.#problems.push({ path: pathOf(names[i]!), message: `${names[i]} ${NEEDS_ROUTE}` })
    })
    return { ...hooksOf(made, this.#collectors), made }
  }

  /** How exchanges are logged and traced where frontend policies say so. */
  frontend(policies: PolicySet): FrontendPlans {
    const forms = this.#policies
      .filter((policy) => policy.section === 'frontend' && policies[policy.name] !== undefined)
      .map(
        (policy) => this.#compile(policy, policies[policy.name], NOWHERE, `frontendPolicies.${policy.name}`).compiled
      )
    return {
      log: forms.find((form) => form.accessLog !== undefined)?.accessLog ?? null,
      tracing: forms.find((form) => form.tracing !== undefined)?.tracing ?? null,
      metrics: forms.find((form) => form.metrics !== undefined)?.metrics ?? null
    }
  }

  #forms(levels: readonly Level[], matches: readonly CompiledMatch[]) {
    const merged = mergePolicies(
      levels.map((level) => level.policies),
      this.#accumulating
    )
    const levelOf = (name: string) => levels.findLast((level) => level.policies[name] !== undefined)!
    const pathOf = (name: string) => `${levelOf(name).path}.${name}`
    this.#refuseUnknown(merged, pathOf)
    const inOrder = this.#policies.filter((policy) => merged[policy.name] !== undefined)
    const made = inOrder.map((policy) => {
      const { name } = policy
      return this.#compile(policy, merged[name], { matches, attachment: levelOf(name).attachment }, pathOf(name))
    })
    const forms = made.map(({ compiled }) => compiled)
    return { names: inOrder.map((policy) => policy.name), made, forms, pathOf }
  }

  #refuseUnknown(merged: PolicySet, pathOf: (name: string) => string): void {
    for (const name of Object.keys(merged)) {
      const policy = this.#policies.find((known) => known.name === name)
      if (policy === undefined) this.#problems.push({ path: pathOf(name), message: 'is not a policy of this version' })
      else if (policy.section === 'frontend') {
        this.#problems.push({ path: pathOf(name), message: 'applies to the whole gateway, not to a listener or route' })
      }
    }
  }

  #compile(policy: Policy, config: unknown, where: CompiledFor, path: string): CompiledPolicy {
    const { matches, attachment } = where
    const key = JSON.stringify([
      policy.name,
      this.#lent.maxBufferBytes,
      config,
      policy.usesMatches ? matches : null,
      policy.usesAttachment ? attachment : null
    ])
    const isSame = (made: CompiledPolicy) =>
      made.policy === policy && isDeepStrictEqual(made.config, config) && this.#services.has(made.uses)
    const done = this.#cache.find(key, isSame) ?? this.#fresh.find(key, isSame)
    if (done !== undefined) {
      done.usedIn = this.#build
      return done
    }
    let compiled: Compiled = {}
    const uses = new Map<string, UsedService>()
    try {
      compiled = policy.compile(config as never, {
        ...this.#lent,
        ...where,
        services: this.#services.lend(policy.name, uses)
      })
    } catch (error) {
      const inside = error instanceof FieldError ? pathInside(error.path) : ''
      this.#problems.push({ path: `${path}${inside}`, message: (error as Error).message })
    }
    const made = { key, policy, config, compiled, owner: ownerOf(policy, config), uses, usedIn: this.#build }
    this.#fresh.add(made)
    return made
  }
}

/** What is wrong with a policy in the phase PreRouting whose settings are read from the route. */
export const NEEDS_ROUTE = 'is a setting of the route, which is not known in the phase PreRouting'

function ownerOf({ name, expressions, identifies, accumulates }: Policy, config: unknown): HookOwner {
  if (identifies !== undefined) return { name, identifies }
  if (expressions === undefined) return { name }
  const levels = accumulates === true ? (config as readonly unknown[]) : [config]
  return { name, expressions: () => levels.flatMap((level) => expressions(level as never)) }
}

function partition<T>(all: readonly T[], belongs: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(belongs), all.filter((one) => !belongs(one))]
}

function hooksOf(made: readonly CompiledPolicy[], collectors: Collectors): Hooks {
  const request = sideOf(made, 'request', collectors)
  const response = sideOf(made.toReversed(), 'response', collectors)
  return {
    requestHooks: orNull(request.hooks),
    responseHooks: orNull(response.hooks),
    hookOwners: { request: orNull(request.owners) ?? NO_OWNERS, response: orNull(response.owners) ?? NO_OWNERS }
  }
}

/** Whether the engine reads something of it from a route: hooks alone can run before there is one. */
function mirrorsOf(forms: readonly Compiled[], pathOf: (index: number) => string): PlacedMirror[] {
  return forms.flatMap(({ mirrors = [] }, i) => mirrors.map((plan) => ({ plan, path: pathOf(i) })))
}

export function needsRoute({ settings, retry, mirrors }: Compiled): boolean {
  return settings !== undefined || retry !== undefined || mirrors !== undefined
}

/** One list after the other. */
export function joined(first: readonly Hook[] | null, second: readonly Hook[] | null): readonly Hook[] | null {
  if (first === null) return second
  return second === null ? first : [...first, ...second]
}

/** ".a[0].b" */
export function pathInside(path: FieldError['path']): string {
  return path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
}

/** For policies of no route. */
const NOWHERE: CompiledFor = { matches: [], attachment: '' }

const DEFAULT_SETTINGS: RouteSettings = Object.freeze({
  requestTimeoutMs: 0,
  backendTimeoutMs: 0,
  hostRewrite: 'default'
})
/** A reference without policies, of a route without settings: most of thousands. */
const PLAIN: Reference = { hooks: null, waiting: null, made: [], mirrors: [], settings: DEFAULT_SETTINGS }
const NO_OWNERS: readonly HookOwner[] = []

function settingsOf(forms: readonly Compiled[]): RouteSettings {
  if (forms.every(({ settings }) => settings === undefined)) return DEFAULT_SETTINGS
  return Object.freeze(Object.assign({ ...DEFAULT_SETTINGS }, ...forms.map((form) => form.settings)))
}

/** Hooks in run order, a collector before the first that reads the body. */
function sideOf(made: readonly CompiledPolicy[], side: 'request' | 'response', collectors: Collectors) {
  const hooks: Hook[] = []
  const owners: HookOwner[] = []
  const add = (hook: Hook, owner: HookOwner): void => {
    hooks.push(hook)
    owners.push(owner)
  }
  let isCollected = false
  let isBegun = false
  for (const { compiled, owner } of made) {
    const { filter } = compiled
    const hook = side === 'request' ? filter?.onRequest : filter?.onResponse
    // Also without a hook of this side: one of the response may read the request's body.
    const wanted = filter?.buffers?.[side]
    if (wanted === true && !isCollected) {
      add(collectors[side], COLLECTOR)
      isCollected = true
    }
    if (wanted === 'prefix' && !isBegun && !isCollected) {
      add(side === 'request' ? collectors.requestPrefix : collectors.responsePrefix, COLLECTOR)
      isBegun = true
    }
    if (hook !== undefined) add(hook, owner)
  }
  return { hooks, owners }
}

/** Of hooks that wait for a body. */
const COLLECTOR: HookOwner = { name: 'body' }

/** A copy of a list that has grown has no room for more: 48 bytes instead of 184. */
function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list.slice()
}
