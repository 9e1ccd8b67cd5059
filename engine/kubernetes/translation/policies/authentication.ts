/**
 * `mcp.authentication` is said of backends and acts on requests: it becomes a policy of the rules that lead to MCP
 * servers. Of several levels the most precise holds, the backend's own last.
 */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { namedBackend } from '#engine/kubernetes/translation/routes/names.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { ownAuthentication } from './backend.ts'
import { type Field, partOf } from './fields.ts'
import type { PolicyOptions, PolicyTarget, RouteAuthentication } from './options.ts'
import { schemasOf } from './schemas.ts'
import { fieldsFor } from './target-policies.ts'
import { sectionsOf } from './targets.ts'

/** `names`: of the backends of a rule. `around`: Gateway, ListenerSet, listener, route, rule; the last is the rule. */
export function authenticationOf(
  names: Iterable<string>,
  around: readonly PolicyTarget[],
  objects: Objects,
  options: PolicyOptions
): RouteAuthentication {
  const policy = schemasOf(options).mcpAuthentication
  const backends = [...names].flatMap((name) => mcpBackend(name, objects) ?? [])
  if (policy === undefined || backends.length === 0) return NONE
  const levels = around.map((target) => fieldsFor(target, objects, options))
  const outer = levels.findLast(({ authentication }) => authentication !== null)
  const found = backends.flatMap((backend) => authenticationsOf(backend, objects, options))
  const [first = outer?.authentication, ...others] = found
  if (first === undefined || first === null) return NONE
  const { value, origins } = partOf(new Map([[policy.name, first]]))
  return {
    sets: { value: [value], origins: origins.map(([at, from]) => [[0, ...at], from]) },
    faults: others.flatMap((other) => conflict(other, first) ?? [])
  }
}

const NONE: RouteAuthentication = { sets: { value: [], origins: [] }, faults: [] }

/** What the backend and its targets say themselves; without that, what GatewayPolicies say of them. */
function authenticationsOf(backend: KubernetesObject, objects: Objects, options: PolicyOptions): readonly Field[] {
  const own = ownAuthentication(backend, objects, options)
  if (own.length > 0) return own
  const { namespace = '', name } = backend.metadata
  const target = { kind: 'GatewayBackend', namespace, name } as const
  const parts = sectionsOf(backend).map((sectionName) => ({ ...target, sectionName }))
  return [target, ...parts].flatMap((one) => fieldsFor(one, objects, options).authentication ?? [])
}

/** Null: it is no GatewayBackend, or none of MCP. */
function mcpBackend(name: string, objects: Objects): KubernetesObject | null {
  if (namedBackend(name) !== null) return null
  const dot = name.indexOf('.')
  const found = objects.get('GatewayBackend', name.slice(0, dot), name.slice(dot + 1))
  return found === undefined || objectOf(found.spec).mcp === undefined ? null : found
}

/** Null: both say the same. */
function conflict(other: Field, first: Field): Fault | null {
  if (JSON.stringify(other.value) === JSON.stringify(first.value)) return null
  const message = `a rule leads here and to what has the authentication of ${first.key.replace('/', ' ')}, which holds for it`
  return { type: 'Conflicted', reason: 'Conflicted', message, place: { key: other.key, path: other.from } }
}
