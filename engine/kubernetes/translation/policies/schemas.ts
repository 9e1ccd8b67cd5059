/** The schemas of a registry's resources: as files spell them, to walk a value by, and as API servers have them. */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { objectSchema, resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { backendPolicies, trafficPolicies } from '#engine/kubernetes/resources/policies.ts'
import { ResourceSchemas } from '#engine/kubernetes/resources/resource-schema.ts'
import { resourceWords } from '#engine/kubernetes/resources/words.ts'
import type { ZodType } from '#engine/schema/schema.ts'
import { frontendSchema } from '#engine/source/frontend.ts'
import { type Kinds, kindsOf } from '#engine/source/kinds.ts'
import { type PolicyKey, policyKeys } from '#engine/source/policies.ts'
import type { PolicyOptions } from './options.ts'

export interface Schemas {
  readonly kinds: Kinds
  /** In the spelling of files. */
  readonly frontend: ZodType
  readonly traffic: ZodType
  readonly backend: ZodType
  /** `mcp.authentication` of `backend`; absent: no such policy is registered. */
  readonly mcpAuthentication: Policy | undefined
  /** Names that files have for policies. */
  readonly keys: readonly PolicyKey[]
  /** Names of policies of which those of several levels hold together. */
  readonly adding: ReadonlySet<string>
  readonly resources: ResourceSchemas
  /** Of whole objects, by kind. */
  readonly objects: ReadonlyMap<string, ZodType>
}

const made = new WeakMap<readonly Policy[], WeakMap<readonly BackendKind[], Schemas>>()

/** Made once for each pair of registries. */
export function schemasOf({ policies, backends }: Pick<PolicyOptions, 'policies' | 'backends'>): Schemas {
  const ofPolicies = made.get(policies) ?? new WeakMap<readonly BackendKind[], Schemas>()
  made.set(policies, ofPolicies)
  const schemas = ofPolicies.get(backends) ?? make(policies, backends)
  ofPolicies.set(backends, schemas)
  return schemas
}

function make(policies: readonly Policy[], backends: readonly BackendKind[]): Schemas {
  const kinds = kindsOf(backends)
  const words = resourceWords(policies)
  const resources: ResourceSchemas = new ResourceSchemas((word) => words[word](resources))
  return {
    kinds,
    frontend: frontendSchema(policies),
    traffic: trafficPolicies(policies),
    backend: backendPolicies(kinds),
    mcpAuthentication: policies.find(({ inResources }) => inResources === 'McpAuthentication'),
    keys: policyKeys(policies),
    adding: new Set([
      ...policies.filter(({ accumulates }) => accumulates).map(({ name }) => name),
      ...kinds.policies.filter(({ addsUp }) => addsUp).flatMap(({ keys }) => Object.keys(keys))
    ]),
    resources,
    objects: new Map(resourcesOf(policies, backends).map((resource) => [resource.kind, objectSchema(resource)]))
  }
}
