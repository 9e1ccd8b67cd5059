/** GatewayPolicy (weir.dev/v1alpha1): what policies are for, and the policies of the registries. */
import type { Policy } from '#engine/contract/policy.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { cel } from '#engine/schema/rule.ts'
import { list, type ZodType, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'
import { frontendSchema } from '#engine/source/frontend.ts'
import type { Kinds } from '#engine/source/kinds.ts'
import { backendPolicies, trafficPolicies } from './policies.ts'
import { group, isOneOf, kind, matchLabels, objectName, sectionName, TARGETS } from './references.ts'
import type { ResourceSchemas } from './resource-schema.ts'

/** docs/specification.md#attachment-and-merging. */
const TARGETS_MAX = 16

const targetFields = () => ({
  group: group().describe('Of the kind; empty for Service.'),
  kind: kind().describe('Gateway, ListenerSet, a kind of route, Service, InferencePool or GatewayBackend.')
})

const section = () =>
  sectionName()
    .optional()
    .describe('A listener, a rule of a route, the port of a Service, a provider or target of a GatewayBackend.')

const targetRef = () =>
  z
    .strictObject({
      ...targetFields(),
      name: objectName().describe('Of an object in the same namespace.'),
      sectionName: section()
    })
    .check(isOneOf(TARGETS))

const targetSelector = () =>
  z
    .strictObject({
      ...targetFields(),
      matchLabels: matchLabels().describe('Objects with all of these labels.'),
      sectionName: section()
    })
    .check(isOneOf(TARGETS))

interface Target {
  readonly kind: string
  readonly sectionName?: string | undefined
}

interface Spec {
  readonly targetRefs?: readonly Target[] | undefined
  readonly targetSelectors?: readonly Target[] | undefined
  readonly frontend?: unknown
  readonly traffic?: { readonly phase?: unknown } | undefined
}

/** Where one part of a policy may be attached. `condition`: of the rule, in CEL over self and as a function. */
interface Placement {
  readonly field: string
  readonly message: string
  readonly applies: (spec: Spec) => boolean
  readonly appliesInCel: string
  readonly allows: (target: Target) => boolean
  /** Over `target`. */
  readonly allowsInCel: string
}

const BACKENDS: readonly string[] = ['Service', 'InferencePool', 'GatewayBackend']

const PLACEMENTS: readonly Placement[] = [
  {
    field: 'frontend',
    message: 'is for whole Gateways: each target must be a Gateway, without sectionName',
    applies: ({ frontend }) => frontend !== undefined,
    appliesInCel: 'has(self.frontend)',
    allows: ({ kind: of, sectionName: at }) => of === 'Gateway' && at === undefined,
    allowsInCel: "target.kind == 'Gateway' && !has(target.sectionName)"
  },
  {
    field: 'traffic',
    message: 'is for requests: each target must be a Gateway, a ListenerSet or a route',
    applies: ({ traffic }) => traffic !== undefined,
    appliesInCel: 'has(self.traffic)',
    allows: ({ kind: of }) => !BACKENDS.includes(of),
    allowsInCel: `!(target.kind in ['${BACKENDS.join("', '")}'])`
  },
  {
    field: 'traffic',
    message: 'with phase PreRouting runs before there is a route: each target must be a Gateway or a ListenerSet',
    applies: ({ traffic }) => traffic?.phase === 'PreRouting',
    appliesInCel: "has(self.traffic) && has(self.traffic.phase) && self.traffic.phase == 'PreRouting'",
    allows: ({ kind: of }) => of === 'Gateway' || of === 'ListenerSet',
    allowsInCel: "target.kind in ['Gateway', 'ListenerSet']"
  }
]

const LISTS = ['targetRefs', 'targetSelectors'] as const

const placed = ({ field, message, applies, appliesInCel, allows, allowsInCel }: Placement) => {
  const ofList = (name: string) => `(!has(self.${name}) || self.${name}.all(target, ${allowsInCel}))`
  const rule = `!(${appliesInCel}) || ${LISTS.map(ofList).join(' && ')}`
  return together<Spec>(
    [...LISTS, field],
    ({ value, issues }) => {
      if (!applies(value) || LISTS.every((name) => (value[name] ?? []).every(allows))) return
      issues.push({ code: 'custom', path: [field], message, input: value })
    },
    cel(rule, { message, field })
  )
}

export function gatewayPolicySpec(policies: readonly Policy[], kinds: Kinds, schemas: ResourceSchemas): ZodType {
  const spec = oneOf(
    {
      targetRefs: list(targetRef(), 1, TARGETS_MAX).optional().describe('What the policies are for, by name.'),
      targetSelectors: list(targetSelector(), 1, TARGETS_MAX).optional().describe('What they are for, by labels.')
    },
    {
      frontend: frontendSchema(policies).optional().describe('How connections of clients are treated.'),
      traffic: trafficPolicies(policies).optional().describe('What happens to requests.'),
      backend: backendPolicies(kinds).optional().describe('How backends are spoken to.')
    }
  )
  return schemas.of(spec.check(...PLACEMENTS.map(placed)))
}
