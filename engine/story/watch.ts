/**
 * Routes and listeners as one request sees them that somebody watches: the very same hooks run, and say what they have
 * decided. Requests that are not watched have the routes as they were built, and pay nothing.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Hook, Verdict } from '#engine/contract/filter.ts'
import type { HookOwner, Listener, Recorder, Route } from '#engine/contract/route.ts'

export type Side = 'request' | 'response'

export interface Watch {
  /** Runs `hook`, and returns what the exchange goes on with. */
  hook(ex: Exchange, owner: HookOwner, side: Side, hook: Hook): Verdict | Promise<Verdict>
  /** Its route was looked for. `code`: why it has none. */
  routed(ex: Exchange, code: ErrorCode | null): void
  /** It goes to its backend; once for each attempt. */
  serving(ex: Exchange): void
  /** It is over, and recorded. */
  over(ex: Exchange): void
}

const UNKNOWN: HookOwner = { name: 'unknown' }

/** What is made for a route or listener is kept as long as that is. */
export class WatchedRoutes {
  readonly #watch: Watch
  readonly #routes = new WeakMap<Route, Route>()
  readonly #listeners = new WeakMap<Listener, Listener>()

  constructor(watch: Watch) {
    this.#watch = watch
  }

  /** Behind Router.route, which has said `code`: from here on `ex` is watched. */
  begin(ex: Exchange, code: ErrorCode | null): void {
    if (ex.listener !== null) ex.listener = this.#listenerFor(ex.listener)
    if (ex.listener === null || ex.route !== null || code !== null) this.#routed(ex, code)
  }

  #routed(ex: Exchange, code: ErrorCode | null): void {
    if (ex.route !== null) ex.route = this.#routeFor(ex.route)
    this.#watch.routed(ex, code)
  }

  #listenerFor(listener: Listener): Listener {
    const known = this.#listeners.get(listener)
    if (known !== undefined) return known
    const { name, port, dialect, requestId, placesOf, sourceOf, hookOwners } = listener
    const view: Listener = {
      name,
      port,
      requestHooks: this.#hooks(listener.requestHooks, hookOwners?.request, 'request'),
      responseHooks: this.#hooks(listener.responseHooks, hookOwners?.response, 'response'),
      recorder: this.#recorder(listener.recorder),
      ...(dialect === undefined ? {} : { dialect }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(placesOf === undefined ? {} : { placesOf }),
      ...(sourceOf === undefined ? {} : { sourceOf }),
      route: (ex) => {
        const code = listener.route(ex)
        this.#routed(ex, code)
        return code
      },
      whyNoRoute: (ex) => listener.whyNoRoute?.(ex) ?? ''
    }
    this.#listeners.set(listener, view)
    return view
  }

  #routeFor(route: Route): Route {
    const known = this.#routes.get(route)
    if (known !== undefined) return known
    const { hookOwners } = route
    const view: Route = {
      ...route,
      requestHooks: this.#hooks(route.requestHooks, hookOwners?.request, 'request'),
      responseHooks: this.#hooks(route.responseHooks, hookOwners?.response, 'response'),
      recorder: this.#recorder(route.recorder),
      serve: (ex) => {
        this.#watch.serving(ex)
        route.serve(ex)
      }
    }
    this.#routes.set(route, view)
    return view
  }

  #hooks(hooks: readonly Hook[] | null, owners: readonly HookOwner[] = [], side: Side): readonly Hook[] | null {
    const watch = this.#watch
    return (
      hooks?.map(
        (hook, i): Hook =>
          (ex) =>
            watch.hook(ex, owners[i] ?? UNKNOWN, side, hook)
      ) ?? null
    )
  }

  #recorder(recorder: Recorder): Recorder {
    return {
      record: (ex) => {
        recorder.record(ex)
        this.#watch.over(ex)
      }
    }
  }
}
