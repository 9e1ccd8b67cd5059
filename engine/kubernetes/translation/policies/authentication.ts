/**
 * `mcp.authentication` is said of backends and acts on requests: it becomes a policy of the rules that lead to MCP
 * servers. Of several levels the most precise holds, the backend's own last.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Part } from '#engine/kubernetes/translation/parts.ts'
import { namedBackend } from '#engine/kubernetes/translation/routes/names.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { ownAuthentication } from './backend.ts'
import { type Field, partOf } from './fields.ts'
import type { PolicyOptions, PolicyTarget, RuleAuthentication } from './options.ts'
import { schemasOf } from './schemas.ts'
import { fieldsFor } from './target-policies.ts'
import { sectionsOf } from './targets.ts'

/** `names`: of the backends of a rule. `around`: what says it besides, least precise first: the route, the rule. */
export function authenticationOf(
  names: Iterable<string>,
  around: readonly PolicyTarget[],
  objects: Objects,
  options: PolicyOptions
): RuleAuthentication {
  const backends = [...names].flatMap((name) => mcpBackend(name, objects) ?? [])
  if (backends.length === 0) return NONE
  const levels = around.map((target) => fieldsFor(target, objects, options).authentication)
  const outer = levels.findLast((one) => one !== null)
  const found = backends.flatMap((backend) => authenticationsOf(backend, objects, options))
  const [first = outer, ...others] = found
  if (first === undefined || first === null) return { ...NONE, isOpen: true }
  // A token for one of them must not be enough for the other.
  const isAmbiguous = others.some(({ value }) => !isDeepStrictEqual(value, first.value))
  const policy = schemasOf(options).mcpAuthentication
  const held = isAmbiguous ? { ...first, value: policy?.closed, origins: [] } : first
  const { value, origins } = authenticationSet(held, options)
  return {
    sets: { value: [value], origins: origins.map(([at, from]) => [[0, ...at], from]) },
    isOpen: false,
    isAmbiguous
  }
}

const NONE: RuleAuthentication = { sets: { value: [], origins: [] }, isOpen: false, isAmbiguous: false }

/** Set of policies of a route. */
function authenticationSet(field: Field, options: PolicyOptions): Part {
  const { mcpAuthentication } = schemasOf(options)
  return mcpAuthentication === undefined
    ? { value: {}, origins: [] }
    : partOf(new Map([[mcpAuthentication.name, field]]))
}

/** For the rules at a listener that are open; of `around` the last that says it: Gateway, ListenerSet, listener. */
export function authenticationAround(
  around: readonly PolicyTarget[],
  objects: Objects,
  options: PolicyOptions
): Part | null {
  const levels = around.map((target) => fieldsFor(target, objects, options).authentication)
  const found = levels.findLast((one) => one !== null) ?? null
  return found === null ? null : authenticationSet(found, options)
}

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
  if (found === undefined) return null
  return contained(
    found,
    () => (objectOf(found.spec).mcp === undefined ? null : found),
    () => null
  )
}
