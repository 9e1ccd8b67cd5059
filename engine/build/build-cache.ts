/**
 * What a configuration may take over from the one before: what a reload does not change is not built again, so that one
 * changed route among thousands costs what one route costs.
 */
import type { CompiledBackend } from '#engine/contract/backend.ts'
import type { RequestIdRules } from '#engine/contract/request-id.ts'
import type { PolicyPlaces, Route } from '#engine/contract/route.ts'
import type { Places } from '#engine/ir/places.ts'
import type { PolicySet, RouteSpec } from '#engine/ir/snapshot.ts'
import { RouterCache } from '#engine/routing/router-cache.ts'
import { BackendCache } from './backend-compiler.ts'
import type { CompiledPolicy, FrontendPlans, Hooks, Level, PolicyCache, Reference, RouteChain } from './policies.ts'
import type { RouteDescription } from './runtime-types.ts'

/** A route, and what it was made of beside its policies. */
export interface KnownRoute {
  /** Of the gateway and the listener. */
  readonly policies: readonly PolicySet[]
  readonly maxBufferBytes: number
  readonly chain: RouteChain
  readonly preRouting: Hooks
  readonly frontend: FrontendPlans
  readonly references: readonly Reference[]
  /** In the order of the references. */
  readonly backends: readonly (CompiledBackend | undefined)[]
  readonly route: Route
  readonly description: RouteDescription
  readonly standing: Standing
}

export interface KnownListener {
  readonly policies: readonly PolicySet[]
  readonly requestId: RequestIdRules | undefined
  readonly made: readonly CompiledPolicy[]
  readonly preRouting: Hooks
  readonly routes: Map<RouteSpec, KnownRoute>
}

export class BuildCache {
  policies: PolicyCache = new Map()
  /** By port and name. */
  listeners: ReadonlyMap<string, KnownListener> = new Map()
  frontend: FrontendPlans = { log: null, tracing: null, metrics: null }
  readonly backends = new BackendCache()
  readonly router = new RouterCache()
}

/** What stands around the routes of a listener. */
export interface AroundRoutes {
  /** Of the gateway and the listener. */
  readonly levels: readonly Level[]
  /** Of the listener, in the Snapshot. */
  readonly path: string
  readonly places: Places | null
}

export function placesIn(levels: readonly Level[], places: Places | null): PolicyPlaces {
  return {
    placesOf: (policy) =>
      levels.filter(({ policies }) => policies[policy] !== undefined).map(({ path }) => `${path}.${policy}`),
    sourceOf: (path) => places?.find(path) ?? null
  }
}

/** Where a route stands: at another place when those ahead of it come or go, which is no reason to build it anew. */
export class Standing {
  around: AroundRoutes
  /** Among the routes of the listener. */
  index: number
  readonly of: PolicyPlaces

  /** `own`: policies of the route itself. */
  constructor(around: AroundRoutes, index: number, own: PolicySet) {
    this.around = around
    this.index = index
    this.of = {
      placesOf: (policy) => placesIn(this.#levels(own), null).placesOf!(policy),
      sourceOf: (path) => this.around.places?.find(path) ?? null
    }
  }

  #levels(policies: PolicySet): readonly Level[] {
    return [...this.around.levels, { path: `${this.path}.policies`, attachment: '', policies }]
  }

  get path(): string {
    return `${this.around.path}.routes[${this.index}]`
  }
}
