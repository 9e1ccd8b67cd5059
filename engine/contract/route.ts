/** A route as a worker runs it: everything that can be known before a request comes is known here. */
import type { RetryBudget } from '#engine/kit/retry-budget.ts'
import type { Background } from './background.ts'
import type { ErrorCode } from './errors.ts'
import type { DialectFinder, Exchange } from './exchange.ts'
import type { Hook, RetryPlan, RouteSettings } from './filter.ts'
import type { RequestIdRules } from './request-id.ts'
import type { SidePurpose } from './side-call.ts'
import type { TcpTable } from './tcp.ts'

/** Where the observability data of one route goes; made by telemetry, called once per exchange. */
export interface Recorder {
  record(ex: Exchange): void
  /** A call of a model beside an exchange of the route is over (side-call.ts). Absent: nobody wants to know. */
  recordCall?(call: Exchange): void
  /** Such a call was not made: too many are under way. */
  callDropped?(purpose: SidePurpose): void
}

/** Where clients of a kind of backend show their key, in the order in which it is looked for. */
export interface KeyLocation {
  readonly kind: 'header' | 'query'
  readonly name: string
}

/** The plan of the policy `retry` as a route runs it. */
export interface RouteRetry {
  readonly plan: RetryPlan
  /** Of this route in this worker. */
  readonly budget: RetryBudget
  /** Largest request body that is kept for another attempt. */
  readonly bodyBytesMax: number
}

/** A plan of the policy `requestMirror` as a route runs it. */
export interface RouteMirror {
  /** Name of the backend, for counting. */
  readonly backend: string
  readonly share: number
  readonly serve: (copy: Exchange) => void
  readonly recorder: MirrorRecorder
  /** Largest part of one body that may wait for the mirror. */
  readonly waitingBytesMax: number
  /** A request was not copied, because it is a copy that has come back. */
  readonly looped: () => void
  /** Copies under way in this worker. */
  readonly load: { copies: number }
}

/** Counts copies; they are no requests of clients. */
export interface MirrorRecorder extends Recorder {
  /** A copy was not even begun, because too many are under way. */
  dropped(backend: string): void
}

export interface PolicyPlaces {
  /** Where a policy stands, by its name: paths in the configuration, the least precise first. */
  readonly placesOf?: (policy: string) => readonly string[]
  /** Where the value at such a path was written: `weir.yaml:41:7`. Absent or null: unknown. */
  readonly sourceOf?: (path: string) => string | null
}

/** The policy that a hook belongs to, for people who ask about one request. */
export interface HookOwner {
  readonly name: string
  /** Sources of the expressions in its configuration. */
  readonly expressions?: () => readonly string[]
  /** The variable of expressions that it sets; absent: none. */
  readonly identifies?: string
}

/** Owners in the order of the hooks. */
export interface HookOwners {
  readonly request: readonly HookOwner[]
  readonly response: readonly HookOwner[]
}

export interface Route extends PolicyPlaces {
  readonly name: string
  /** Of several rules with this name, which; '' where it has none. */
  readonly rule: string
  readonly listener: string
  /** Port of the bind. */
  readonly port: number
  /** Matches in the order of the configuration; ex.matchIndex points into it. */
  readonly matches: readonly CompiledMatch[]
  /** Null when there are none: a step without hooks costs nothing. */
  readonly requestHooks: readonly Hook[] | null
  /** In run order, that is last policy first. */
  readonly responseHooks: readonly Hook[] | null
  /** Absent: nobody asks. */
  readonly hookOwners?: HookOwners
  readonly settings: RouteSettings
  /** Null: an attempt that fails is the last one. */
  readonly retry: RouteRetry | null
  /** Null: the request is not mirrored. */
  readonly mirrors: readonly RouteMirror[] | null
  /** Sends the exchange to its backend. */
  readonly serve: (ex: Exchange) => void
  /** Of its first backend that has one; null or absent: refusals are text. */
  readonly dialect?: DialectFinder | null
  /** Where clients show keys beside Authorization, as all of its backends have it; null or absent: nowhere. */
  readonly keyLocations?: readonly KeyLocation[] | null
  /** ex.servedAt or ex.respondedAt is read. */
  readonly isTimed: boolean
  /** It is read why a target of a model was drawn; absent: it is not. */
  readonly readsRouting?: boolean
  /** The request's body, or the backend's form of it, is read after the answer has begun; absent: it is not. */
  readonly keepsRequest?: boolean
  readonly recorder: Recorder
}

/** Names of the configuration; '' and 0 for what an exchange did not get to. */
export interface RecorderLabels {
  readonly route: string
  /** Of several rules with that name of a route, which. */
  readonly rule?: string
  readonly listener: string
  readonly port: number
  /** It leads to models: what refuses a call of them is recorded with the calls. */
  readonly asksModels?: boolean
}

/** One match of a route, for rewrites that need to know what matched. */
export interface CompiledMatch {
  readonly kind: 'exact' | 'prefix' | 'regex'
  /** The exact path or the prefix without a trailing slash, both decoded, or the source of the expression. */
  readonly path: string
}

/**
 * A listener as a worker runs it. `route` finds the route of an exchange among its own: sets ex.route and
 * ex.matchIndex, or says why there is none.
 */
export interface Listener extends ListenerParts {
  route(ex: Exchange): ErrorCode | null
  /** Why none of its routes matches `ex`: for the log, after `route` has found none. */
  whyNoRoute?(ex: Exchange): string
  /** What the configuration needs beside requests: begun when it is put in force, ended when another one is. */
  readonly background?: readonly Background[]
}

/** What a listener has beside its routes; its places are those of the phase PreRouting. */
export interface ListenerParts extends PolicyPlaces {
  readonly name: string
  /** Port of the bind. */
  readonly port: number
  /** Of the phase PreRouting: they run before the route is chosen. Null when there are none. */
  readonly requestHooks: readonly Hook[] | null
  /** Of the phase PreRouting, for exchanges without a route: those of a route have them at their end. */
  readonly responseHooks: readonly Hook[] | null
  /** Absent: nobody asks. */
  readonly hookOwners?: HookOwners
  /** Absent: the defaults. */
  readonly requestId?: RequestIdRules
  /** Of refusals that come before a route is chosen. */
  readonly dialect?: DialectFinder
  /** Records exchanges that got as far as the listener and no route. */
  readonly recorder: Recorder
}

/**
 * Finds the listener of an exchange (ex.listener) and its route (as Listener), or says why there is none.
 * A listener with PreRouting request hooks leaves ex.route null: they run first, then Listener.route.
 */
export interface Router {
  route(ex: Exchange): ErrorCode | null
  /** Records exchanges that got no listener. */
  readonly unrouted?: Recorder
  /** What the configuration needs beside requests: begun when it is put in force, ended when another one is. */
  readonly background?: readonly Background[]
  /** Binds that pass connections on unread. */
  readonly tcp?: TcpTable
}
