/** GatewayBackends and GatewayPolicies -> entries of `backends`, sets of policies, `frontendPolicies`, statuses. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Condition, Fault, PolicySetsPart } from '#engine/kubernetes/translation/parts.ts'
import type {
  AncestorStatus,
  BackendParts,
  FrontendParts,
  PolicyOptions,
  PolicyTarget,
  SecretParts,
  StatusContext,
  TargetPolicies
} from './options.ts'

export type * from './options.ts'

const NOTHING = { backends: new Set<string>(), secrets: new Set<string>(), faults: [] }
const EMPTY = { value: [], origins: [] }

/** The entry of a GatewayBackend, with the GatewayPolicies for it and its sections below its own policies. */
export function translateBackend(_backend: KubernetesObject, _objects: Objects, _options: PolicyOptions): BackendParts {
  return { ...NOTHING, entry: null }
}

/** The GatewayPolicies whose target is exactly this one, merged: `traffic` and `backend`. */
export function policiesOf(_target: PolicyTarget, _objects: Objects, _options: PolicyOptions): TargetPolicies {
  return { ...NOTHING, sets: EMPTY }
}

/**
 * Several levels at one place of a file, least precise first: a route and its rule, a ListenerSet and its listener, a
 * rule and what its filters say. By field, the last that says it wins; what adds up is put together.
 */
export function mergeLevels(levels: readonly PolicySetsPart[], _options: PolicyOptions): PolicySetsPart {
  return levels.at(-1) ?? EMPTY
}

/** `frontend` of the GatewayPolicies for a Gateway. */
export function frontendOf(_gateway: KubernetesObject, _objects: Objects, _options: PolicyOptions): FrontendParts {
  return { ...NOTHING, frontend: { value: {}, origins: [] } }
}

/** Entries of `secrets` by their names (Needs.secrets). Their texts are paths of Secrets' keys. */
export function secretEntries(_names: Iterable<string>, _objects: Objects): SecretParts {
  return { entries: [] }
}

/** `status.ancestors` of a GatewayPolicy: those of this controller. */
export function policyStatus(
  _policy: KubernetesObject,
  _objects: Objects,
  _options: PolicyOptions,
  _context: StatusContext
): { readonly ancestors: readonly AncestorStatus[] } {
  return { ancestors: [] }
}

/** `status` of a GatewayBackend. `found`: by compiling a configuration with it. */
export function backendStatus(
  _backend: KubernetesObject,
  _objects: Objects,
  _options: PolicyOptions,
  _found: readonly Fault[]
): { readonly conditions: readonly Condition[] } {
  return { conditions: [] }
}
