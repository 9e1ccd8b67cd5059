/** A router over bare configuration, for tests that need no policies and no backends. */
import type { Problem } from '#engine/contract/config-error.ts'
import type { Route, Router } from '#engine/contract/route.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import type { RouterRoute } from '#engine/routing/misses.ts'
import { buildRouter, type RouterBind } from '#engine/routing/router.ts'
import { RouterCache } from '#engine/routing/router-cache.ts'

/** `routes`: by spec, for routers that follow each other with `cache`. */
export function routerOf(
  binds: readonly RouterBind[],
  problems: Problem[] = [],
  cache = new RouterCache(),
  routes = new Map<RouterRoute, Route>()
): Router {
  return buildRouter(
    binds,
    ({ bind, listener, port }) => ({
      name: binds[bind]!.listeners[listener]!.name,
      port,
      requestHooks: null,
      responseHooks: null,
      recorder: { record: () => {} }
    }),
    (specs, place) =>
      specs.map((spec): Route => {
        const route: Route = routes.get(spec) ?? {
          name: spec.name,
          rule: '',
          listener: binds[place.bind]!.listeners[place.listener]!.name,
          port: place.port,
          matches: spec.matches.map(compileMatch),
          requestHooks: null,
          responseHooks: null,
          settings: { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'default' },
          retry: null,
          mirrors: null,
          isTimed: false,
          serve: () => {},
          recorder: { record: () => {} }
        }
        routes.set(spec, route)
        return route
      }),
    problems,
    cache
  )
}
