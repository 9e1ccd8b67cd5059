/** A route as a worker runs it: everything that can be known before a request comes is known here. */
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Hook, RouteSettings } from './filter.ts'
import type { RouteMirror } from './mirror.ts'
import type { RouteRetry } from './retry.ts'

/** Where the observability data of one route goes; made by telemetry, called once per exchange. */
export interface Recorder {
  record(ex: Exchange): void
}

export interface Route {
  readonly name: string
  readonly listener: string
  /** Port of the bind. */
  readonly port: number
  /** Matches in the order of the configuration; ex.matchIndex points into it. */
  readonly matches: readonly CompiledMatch[]
  /** Null when there are none: a step without hooks costs nothing. */
  readonly requestHooks: readonly Hook[] | null
  /** In run order, that is last policy first. */
  readonly responseHooks: readonly Hook[] | null
  readonly settings: RouteSettings
  /** Null: an attempt that fails is the last one. */
  readonly retry: RouteRetry | null
  /** Null: nobody else gets a copy of the request. */
  readonly mirrors: readonly RouteMirror[] | null
  /** Sends the exchange to its backend. */
  readonly serve: (ex: Exchange) => void
  readonly recorder: Recorder
}

/** One match of a route, for rewrites that need to know what matched. */
export interface CompiledMatch {
  readonly kind: 'exact' | 'prefix' | 'regex'
  /** The exact path, the prefix without a trailing slash, or the source of the expression. */
  readonly path: string
}

/** Finds the route of an exchange: sets ex.route and ex.matchIndex, or says why there is none. */
export interface Router {
  route(ex: Exchange): ErrorCode | null
}
