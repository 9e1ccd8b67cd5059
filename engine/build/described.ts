/** A route of a Runtime, as people see it. */
import type { RouteSpec } from '#engine/ir/snapshot.ts'
import type { KnownRoute } from './build-cache.ts'
import type { RouteDescription } from './runtime-types.ts'

export function described(spec: RouteSpec, { route, chain }: KnownRoute): RouteDescription {
  const { name, rule = '', listener, port } = route
  return {
    name,
    ...(rule === '' ? {} : { rule }),
    listener,
    port,
    hostnames: spec.hostnames,
    matches: spec.matches,
    policies: chain.names,
    settings: chain.settings,
    backends: spec.backends.map(({ backend, weight }) => ({ backend, weight }))
  }
}
