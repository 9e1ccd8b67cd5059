/** A route of the Gateway API -> rules in a file's spelling, whatever it is attached to. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { RouteParts } from '#engine/kubernetes/translation/parts.ts'
import type { RouteOptions } from './options.ts'

export type { RouteOptions } from './options.ts'

/** `route`: HTTPRoute, GRPCRoute, TLSRoute or TCPRoute. */
export function translateRoute(_route: KubernetesObject, _objects: Objects, _options: RouteOptions): RouteParts {
  return { rules: [], faults: [] }
}
