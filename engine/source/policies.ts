/** The `policies` of a listener, route or backend: keys from the registry, real names and aliases. */

import type { Policy, Sources } from '#engine/contract/policy.ts'
import type { PolicyPhases, PolicySet } from '#engine/ir/snapshot.ts'
import { deferred, list, refused, type ZodType, z } from '#engine/schema/schema.ts'
import { filledIn } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import type { Kinds } from './kinds.ts'
import { targetKeys } from './target-refs.ts'

/** Where policies are attached; a route may stand for more (docs/specification.md#attachment-and-merging). */
export type Attachment = 'route' | 'reference' | 'backend'

/** Names of the specification and of other gateways' files: refused by name, and not as a slip of the keyboard. */
const KNOWN_NAMES = [
  ...['a2a', 'backendTunnel', 'buffer', 'delay', 'inferenceRouting'],
  ...['mcpGuardrails', 'oidc', 'sessionAffinity', 'tunnel']
]

/** A name that a configuration accepts for a policy. */
export interface PolicyKey {
  readonly key: string
  readonly policy: Policy
  /** The field of the policy's configuration that the value is; null: the value is all of it. */
  readonly field: string | null
}

/** Every accepted name of every policy. */
export function policyKeys(policies: readonly Policy[]): PolicyKey[] {
  return policies.flatMap((policy) => [
    { key: policy.name, policy, field: null },
    ...policy.aliases.map(({ name, wrap }) => ({ key: name, policy, field: wrap ?? null }))
  ])
}

/** A strict object with the policies that may be attached there; its output has the same keys. */
export function policySchema(policies: readonly Policy[], kinds: Kinds, attachment: Attachment) {
  const shape: Record<string, ZodType> = {}
  for (const policy of policies) {
    const isForRequests = attachment === 'route' || (attachment === 'reference' && policy.atReferences !== undefined)
    const accepted = policy.section === 'backend' || (policy.section === 'traffic' && isForRequests)
    for (const { name, schema } of [{ name: policy.name, schema: policy.schema }, ...aliasSchemas(policy)]) {
      shape[name] = accepted ? schema.optional() : misplaced(policy, name)
    }
  }
  if (attachment === 'route') Object.assign(shape, { phase: phase(), ...targetKeys() })
  for (const { schemas } of kinds.policies) {
    for (const [name, schema] of Object.entries(schemas)) shape[name] ??= schema
  }
  for (const name of KNOWN_NAMES) shape[name] ??= refused(`policy '${name}'`)
  const set = z.strictObject(shape)
  return attachment === 'route' ? set : set.check(notEmpty(kinds)).meta({ minProperties: 1 })
}

/** A backend's policies: none at all is a mistake, probably of indentation (docs/specification.md#backends). */
const notEmpty = (kinds: Kinds) =>
  together<object>([], ({ value, issues }) => {
    if (Object.keys(value).length > 0) return
    // Each by its first name.
    const names = kinds.policies.flatMap(({ keys, schemas }) =>
      Object.keys(schemas).filter((name, i, all) => all.findIndex((other) => keys[other] === keys[name]) === i)
    )
    issues.push({ code: 'custom', message: `must have at least one of ${names.join(', ')}`, input: value })
  })

/** Phases (docs/specification.md#attachment-and-merging). check-policies.ts refuses PreRouting at a route. */
export const phase = () =>
  filledIn(z.enum(['PreRouting', 'PostRouting']), 'PostRouting')
    .optional()
    .describe('When these policies run. PreRouting: before the route is chosen. Default PostRouting.')

/** Sets of one place: one for each phase is enough, but the top of a configuration has those with targets too. */
const SETS_MAX = 64

/** Of a listener or the gateway: one set, or a list of sets with their phases. */
export function policySetsSchema<T extends ZodType>(set: T) {
  return z.union([set, list(set, 1, SETS_MAX)])
}

function misplaced(policy: Policy, name: string): ZodType {
  const error =
    policy.section === 'frontend'
      ? `policy '${name}' applies to the whole gateway: its place is frontendPolicies`
      : `policy '${name}' is not accepted on a backend: put it on the route`
  return z.never({ error }).optional()
}

function aliasSchemas(policy: Policy): { name: string; schema: ZodType }[] {
  return policy.aliases.map(({ name, wrap, schema }) => ({
    name,
    schema: schema ?? deferred(() => partOf(policy, wrap))
  }))
}

/** The schema of one field of a policy's configuration, or of all of it. */
function partOf(policy: Policy, field: string | undefined): ZodType {
  if (field === undefined) return policy.schema
  const whole = policy.schema instanceof z.ZodLazy ? policy.schema.unwrap() : policy.schema
  const part = whole instanceof z.ZodObject ? whole.shape[field] : undefined
  if (part === undefined) throw new Error(`policy ${policy.name} has no field ${field} for its alias`)
  return (part instanceof z.ZodOptional ? part.unwrap() : part) as ZodType
}

/** Validated policies by the names that were given -> by canonical names, what aliases say put together. */
export function canonicalPolicies(set: PolicySet | undefined, keys: readonly PolicyKey[]): PolicySet {
  const out: Record<string, unknown> = {}
  if (set === undefined) return out
  for (const { key, policy, field } of keys) {
    const config = set[key]
    if (config === undefined) continue
    out[policy.name] = field === null ? config : { ...(out[policy.name] as object | undefined), [field]: config }
  }
  return out
}

/** Canonical policies with what they refer to in its place (Policy.resolve). Throws what `resolve` throws. */
export function resolvePolicies(set: PolicySet, keys: readonly PolicyKey[], sources: Sources): PolicySet {
  const out: Record<string, unknown> = { ...set }
  for (const { key, policy } of keys) {
    const config = set[key]
    // Of the names of a policy, only the canonical one is in the set.
    if (config !== undefined && policy.resolve !== undefined) out[key] = policy.resolve(config as never, sources)
  }
  return out
}

/** As canonicalPolicies, for one set or a list of them; check-policies.ts has seen that none says a thing twice. */
export function policyPhases(
  input: PolicySet | readonly PolicySet[] | undefined,
  keys: readonly PolicyKey[]
): PolicyPhases {
  const sets = input === undefined ? [] : isList(input) ? input : [input]
  const of = (isPreRouting: boolean): PolicySet =>
    Object.assign({}, ...sets.filter((set) => isPre(set) === isPreRouting).map((set) => canonicalPolicies(set, keys)))
  return { policies: of(false), preRouting: of(true) }
}

/** Whether a set, valid or not, is for the phase PreRouting. */
export function isPre(set: PolicySet): boolean {
  return set.phase === 'PreRouting'
}

function isList(input: PolicySet | readonly PolicySet[]): input is readonly PolicySet[] {
  return Array.isArray(input)
}
