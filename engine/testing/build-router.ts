/** A router over bare configuration, for tests that need no policies and no backends. */
import type { Problem } from '#engine/contract/config-error.ts'
import type { Route, Router } from '#engine/contract/route.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import { buildRouter, type RouterBind, type RouterRoute } from '#engine/routing/router.ts'

export interface NamedRoute extends RouterRoute {
  readonly name: string
}

export function routerOf(binds: readonly RouterBind<NamedRoute>[], problems: Problem[] = []): Router {
  return buildRouter(
    binds,
    ({ bind, listener, port }) => ({
      name: binds[bind]!.listeners[listener]!.name,
      port,
      requestHooks: null,
      responseHooks: null,
      recorder: { record: () => {} }
    }),
    (spec, place): Route => ({
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
    }),
    problems
  )
}
