/** A route of the Gateway API -> rules in a file's spelling, whatever it is attached to. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, RouteParts } from '#engine/kubernetes/translation/parts.ts'
import { validate } from '#engine/source/validate.ts'
import { ROUTE } from './fields.ts'
import type { RouteOptions } from './options.ts'
import { grpcRules, httpRules } from './request-rules.ts'
import type { RouteContext } from './rule-builder.ts'
import { streamRules } from './stream-rules.ts'

export type { RouteOptions } from './options.ts'

type TranslateRules = (rules: readonly unknown[], context: RouteContext) => RouteParts

const KINDS: Readonly<Record<string, TranslateRules>> = {
  HTTPRoute: httpRules,
  GRPCRoute: grpcRules,
  TLSRoute: (rules, context) => streamRules(rules, context, '_tls'),
  TCPRoute: (rules, context) => streamRules(rules, context, '_tcp')
}

/**
 * `route`: HTTPRoute, GRPCRoute, TLSRoute or TCPRoute. Faults of type Accepted are of rules that are left out, or that
 * answer 500 because of a filter; those of type ResolvedRefs are of single references.
 */
export function translateRoute(route: KubernetesObject, objects: Objects, options: RouteOptions): RouteParts {
  const outcome = validate(ROUTE, route.spec, ['spec'])
  if ('value' in outcome) return KINDS[route.kind]!(outcome.value.rules, { route, objects, options })
  const faults = outcome.findings.map(
    ({ path, message }): Fault => ({
      type: 'Accepted',
      reason: 'UnsupportedValue',
      message,
      place: { key: keyOf(route), path }
    })
  )
  return { rules: [], faults }
}
