/**
 * What a configuration may take over from the one before: what a reload does not change is not built again, so that one
 * changed route among thousands costs what one route costs.
 */
import type { DialectFinder } from '#engine/contract/exchange.ts'
import type { RequestIdRules } from '#engine/contract/request-id.ts'
import type { PolicyPlaces, Route } from '#engine/contract/route.ts'
import type { Places } from '#engine/ir/places.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import { RouterCache } from '#engine/routing/router-cache.ts'
import { BackendCache } from './backend-compiler.ts'
import type { FrontendPlans, Hooks, Level, RouteChain } from './policies.ts'
import { type CompiledPolicy, PolicyCache } from './policy-cache.ts'
import type { RouteList } from './route-list.ts'
import type { Counted } from './used-parts.ts'

/** What routes of a listener depend on beside their own policies and backends. */
export interface RouteContext {
  /** Of the gateway and the listener. */
  readonly policies: readonly PolicySet[]
  readonly maxBufferBytes: number
  readonly preRouting: Hooks
  readonly frontend: FrontendPlans
}

/** Whether policies around routes give the same under both. */
export const isAround = (a: RouteContext, b: RouteContext): boolean =>
  a.maxBufferBytes === b.maxBufferBytes && isSameList(a.policies, b.policies)

/** A route, and what it was made of. */
export interface KnownRoute extends Counted {
  readonly context: RouteContext
  readonly chain: RouteChain
  readonly route: Route
  readonly dialect: DialectFinder | null
  readonly standing: Standing
}

export interface KnownListener {
  readonly policies: readonly PolicySet[]
  readonly requestId: RequestIdRules | undefined
  readonly made: readonly CompiledPolicy[]
  readonly context: RouteContext
  readonly around: AroundRoutes
  list: RouteList
}

export class BuildCache {
  readonly policies = new PolicyCache()
  /** By port and name. */
  listeners: ReadonlyMap<string, KnownListener> = new Map()
  frontend: FrontendPlans = { log: null, tracing: null, metrics: null }
  readonly backends = new BackendCache()
  readonly router = new RouterCache()
  #builds = 0

  /** Number of the build that begins. */
  begin(): number {
    return ++this.#builds
  }
}

/** What stands around the routes of a listener. */
export interface AroundRoutes {
  /** Of the gateway and the listener. */
  readonly levels: readonly Level[]
  /** Of the listener, in the Snapshot. */
  readonly path: string
  readonly places: Places | null
}

/** Whether a route stands in the same place within both. */
export const isSamePlace = (a: AroundRoutes, b: AroundRoutes): boolean =>
  a.path === b.path &&
  a.places === b.places &&
  a.levels.length === b.levels.length &&
  a.levels.every(({ path, policies }, i) => path === b.levels[i]!.path && policies === b.levels[i]!.policies)

export function placesIn(levels: readonly Level[], places: Places | null): PolicyPlaces {
  return {
    placesOf: (policy) =>
      levels.filter(({ policies }) => policies[policy] !== undefined).map(({ path }) => `${path}.${policy}`),
    sourceOf: (path) => places?.find(path) ?? null
  }
}

/** Where a route stands: at another place when those ahead of it come or go, which is no reason to build it anew. */
export class Standing {
  #around: AroundRoutes
  /** Among the routes of the listener. */
  #index: number
  readonly of: PolicyPlaces

  /** `own`: policies of the route itself. */
  constructor(around: AroundRoutes, index: number, own: PolicySet) {
    this.#around = around
    this.#index = index
    this.of = {
      placesOf: (policy) => placesIn(this.#levels(own), null).placesOf!(policy),
      sourceOf: (path) => this.#around.places?.find(path) ?? null
    }
  }

  move(around: AroundRoutes, index: number): void {
    this.#around = around
    this.#index = index
  }

  #levels(policies: PolicySet): readonly Level[] {
    return [...this.#around.levels, { path: `${this.path}.policies`, attachment: '', policies }]
  }

  get path(): string {
    return `${this.#around.path}.routes[${this.#index}]`
  }
}
