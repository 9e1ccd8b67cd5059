/** The three parts of a GatewayPolicy (docs/specification.md#attachment-and-merging), in the spelling of files. */
import type { Policy } from '#engine/contract/policy.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { type ZodType, z } from '#engine/schema/schema.ts'
import type { Kinds } from '#engine/source/kinds.ts'
import { phase } from '#engine/source/policies.ts'

/** Policies that act on backends, by their names in resources. */
export function backendPolicies(kinds: Kinds) {
  return atLeastOne(Object.assign({}, ...kinds.policies.map(({ schemas }) => schemas)) as Record<string, z.ZodOptional>)
}

/** Policies of requests. */
export function trafficPolicies(policies: readonly Policy[]) {
  const own = policies.filter(({ section, inResources }) => section === 'traffic' && inResources === undefined)
  const shape: Record<string, ZodType> = Object.fromEntries(own.map(({ name, schema }) => [name, schema.optional()]))
  return z.strictObject({ phase: phase(), ...shape })
}
