/** A GatewayPolicy by itself: judged, and in the spelling of files. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path } from '#engine/schema/placed.ts'
import type { ZodType } from '#engine/schema/schema.ts'
import { closedFields } from './closed.ts'
import { type Field, type Fields, fieldsOf, NO_FIELDS } from './fields.ts'
import { Gathered } from './gather.ts'
import type { Needs, PolicyOptions } from './options.ts'
import { Recall } from './recall.ts'
import { schemasOf } from './schemas.ts'
import { judgeTenant } from './tenant.ts'

export interface PolicyContent extends Needs {
  readonly policy: KubernetesObject
  /** Not empty: it is refused, and its fields are those that let nothing pass. */
  readonly faults: readonly Fault[]
  readonly doubts: readonly Fault[]
  readonly frontend: Fields
  readonly isPreRouting: boolean
  readonly traffic: Fields
  readonly backend: Fields
  /** `mcp.authentication` of `backend`: a policy of the routes that lead to MCP servers. */
  readonly authentication: Field | null
}

const NOTHING: ReadonlySet<string> = new Set()
/** Of one translation. */
const contents = new WeakMap<PolicyOptions, Recall<PolicyContent>>()

export function contentOf(policy: KubernetesObject, objects: Objects, options: PolicyOptions): PolicyContent {
  const recall = contents.get(options) ?? new Recall<PolicyContent>()
  contents.set(options, recall)
  return recall.of(policy, objects, (noted) =>
    contained(
      policy,
      () => make(policy, noted, options),
      (fault) => refused(policy, [fault], options)
    )
  )
}

function refused(policy: KubernetesObject, faults: readonly Fault[], options: PolicyOptions): PolicyContent {
  return { policy, doubts: [], backends: NOTHING, secrets: NOTHING, faults, ...closed(policy, options) }
}

function make(policy: KubernetesObject, objects: Objects, options: PolicyOptions): PolicyContent {
  const refusals = judge(policy, options)
  if (refusals.length > 0) return refused(policy, refusals, options)
  const { object, faults: ofTenant } = judgeTenant(policy, objects, options)
  if (ofTenant.length > 0) return refused(policy, ofTenant, options)
  const { frontend, traffic, backend } = objectOf(object.spec)
  const schemas = schemasOf(options)
  const gathered = new Gathered(policy, objects, options)
  const fields = (schema: ZodType, value: unknown, path: Path): Fields => {
    if (value === undefined) return NO_FIELDS
    const made = objectOf(gathered.convert(schema, value, path))
    return fieldsOf(made, path, keyOf(policy), gathered.moves)
  }
  const { phase: _, ...requests } = objectOf(traffic)
  const made = {
    isPreRouting: isPreRouting(policy),
    frontend: fields(schemas.frontend, frontend, ['spec', 'frontend']),
    traffic: fields(schemas.traffic, requests, ['spec', 'traffic']),
    backend: fields(schemas.backend, backend, ['spec', 'backend'])
  }
  const { faults, doubts, backends, secrets, authentications } = gathered
  if (faults.length > 0) return refused(policy, faults, options)
  const [authentication = null] = authentications
  return { policy, faults, doubts, backends, secrets, authentication, ...made }
}

const isPreRouting = ({ spec }: KubernetesObject): boolean => objectOf(objectOf(spec).traffic).phase === 'PreRouting'

/** What is left of a policy that cannot be carried out. */
function closed(policy: KubernetesObject, options: PolicyOptions) {
  const isPre = contained(
    policy,
    () => isPreRouting(policy),
    () => false
  )
  return { isPreRouting: isPre, frontend: NO_FIELDS, ...closedFields(policy, options) }
}

/** What is wrong with an object by the schema of its kind: for objects that are older than the CRD. */
export function judge(object: KubernetesObject, options: PolicyOptions): readonly Fault[] {
  const { status: _, ...judged } = object
  const issues = schemasOf(options).objects.get(object.kind)?.safeParse(judged).error?.issues ?? []
  return issues.map(({ path, message }) => ({
    type: 'Accepted',
    reason: 'Invalid',
    message,
    place: { key: keyOf(object), path }
  }))
}
