/** Statuses of GatewayPolicies (GEP-713) and of GatewayBackends. */
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { condition, conditionOf, faultsText, type Good } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { groupOf } from '#engine/kubernetes/translation/routes/grants.ts'
import { entriesOf, objectOf } from '#engine/schema/placed.ts'
import { translateBackend } from './backend.ts'
import { contentOf, type PolicyContent } from './content.ts'
import { UNFIT } from './fit.ts'
import type { AncestorStatus, PolicyOptions, PolicyTarget, StatusContext } from './options.ts'
import { withServicePolicies } from './service.ts'
import { targetEntries } from './target-entries.ts'
import { fieldsFor } from './target-policies.ts'
import { type AimedAt, sectionsOf, targetsOf } from './targets.ts'

/** Gateway API, PolicyStatus. */
const ANCESTORS_MAX = 16

/** What is known of a policy at one ancestor. */
interface Standing {
  readonly ref: AncestorStatus['ancestorRef']
  /** Why nothing of it can be at a target. */
  readonly missing: Refusal[]
  readonly conflicts: Fault[]
  /** Fields that do not act on a target. */
  readonly unfit: Fault[]
  /** Something of it is in force at a target, or there is nothing in it. */
  isInForce: boolean
  /** A Gateway that carries it out. */
  isAttached: boolean
}

export function policyStatus(
  policy: KubernetesObject,
  objects: Objects,
  options: PolicyOptions,
  { gatewaysOf, faults: found }: StatusContext
): { readonly ancestors: readonly AncestorStatus[] } {
  const content = contentOf(policy, objects, options)
  const standings = new Map<string, Standing>()
  const standingAt = (ref: AncestorStatus['ancestorRef'], isAttached: boolean): Standing => {
    const key = JSON.stringify(ref)
    const known = standings.get(key) ?? { ref, missing: [], conflicts: [], unfit: [], isInForce: false, isAttached }
    standings.set(key, known)
    return known
  }
  for (const aim of targetsOf(policy, objects)) {
    const missing = whyMissing(aim)
    const gateways = missing === null ? gatewaysOf(aim.target) : []
    const refs = gateways.length > 0 ? gateways.map((gateway) => refOf(gateway)) : [targetRef(aim)]
    const conflicts = missing === null ? conflictsAt(aim, policy, objects, options) : []
    const unfits = missing === null ? unfitAt(aim, policy, objects, options) : []
    for (const ref of refs) {
      const standing = standingAt(ref, gateways.length > 0)
      if (missing !== null) standing.missing.push(missing)
      standing.conflicts.push(...conflicts)
      standing.unfit.push(...unfits)
      const lost = conflicts.length + unfits.length
      standing.isInForce ||= missing === null && (lost === 0 || lost < fieldCount(content))
    }
  }
  const own = keyOf(policy)
  const faults = [...content.faults, ...content.doubts, ...found.filter(({ place }) => place.key === own)]
  if (targetEntries(policy).length === 0) {
    // A status needs an ancestor, and nothing else is known that could be one.
    standingAt(refOf(policy), false)
    faults.push({ type: 'Accepted', reason: 'Invalid', message: NO_TARGET, place: { key: own, path: ['spec'] } })
  }
  const ancestors = [...standings.values()].slice(0, ANCESTORS_MAX).map(
    (standing): AncestorStatus => ({
      ancestorRef: standing.ref,
      controllerName: CONTROLLER_NAME,
      conditions: conditionsOf(standing, faults, content)
    })
  )
  return { ancestors }
}

function refOf(object: KubernetesObject): AncestorStatus['ancestorRef'] {
  const { namespace, name } = object.metadata
  return { group: groupOf(object), kind: object.kind, ...(namespace === undefined ? {} : { namespace }), name }
}

/** The target itself: no Gateway acts on it, or it is not there. */
function targetRef({ entry, target: { kind, namespace, name, sectionName } }: AimedAt): AncestorStatus['ancestorRef'] {
  const section = sectionName === undefined ? {} : { sectionName }
  return { group: entry.group, kind, namespace, name, ...section }
}

/** Null: it is a target, and there. */
function whyMissing({ target, object }: AimedAt): Refusal | null {
  const { kind, namespace, name, sectionName } = target
  const notFound = (message: string): Refusal => ({ reason: 'TargetNotFound', message })
  if (object === undefined) return notFound(`there is no ${kind} ${namespace}/${name}`)
  if (STREAMS.has(kind)) {
    const message = `policies act on requests, and what a ${kind} passes on is not read`
    return { reason: 'Invalid', message }
  }
  if (sectionName === undefined) return null
  const sections = sectionsOf(object)
  if (sections.includes(sectionName)) return null
  const known = sections.length === 0 ? 'no section has a name' : `there are: ${sections.join(', ')}`
  return notFound(`${kind} ${namespace}/${name} has no section ${sectionName}; ${known}`)
}

const STREAMS: ReadonlySet<string> = new Set(['TLSRoute', 'TCPRoute'])

function conflictsAt({ target }: AimedAt, policy: KubernetesObject, objects: Objects, options: PolicyOptions): Fault[] {
  const own = keyOf(policy)
  return fieldsFor(target, objects, options).conflicts.filter(({ place }) => place.key === own)
}

function unfitAt(
  { target, object }: AimedAt,
  policy: KubernetesObject,
  objects: Objects,
  options: PolicyOptions
): Fault[] {
  const own = keyOf(policy)
  return faultsAt(target, object, objects, options).filter(({ type, place }) => type === UNFIT && place.key === own)
}

function faultsAt(
  { kind, namespace, name }: PolicyTarget,
  object: KubernetesObject | undefined,
  objects: Objects,
  options: PolicyOptions
): readonly Fault[] {
  if (object === undefined) return []
  if (kind === 'GatewayBackend') return translateBackend(object, objects, options).faults
  if (kind !== 'Service') return []
  // Of what it acts on, all ports of Services are of one kind.
  const port = Number(entriesOf(objectOf(object.spec).ports, [])[0]?.raw.port)
  const entry = { value: { name, host: `${name}:${port}` }, origins: [] }
  return withServicePolicies(entry, { namespace, name, port }, objects, options).faults
}

function conditionsOf(standing: Standing, faults: readonly Fault[], { policy }: PolicyContent): Condition[] {
  const { conflicts, isAttached } = standing
  const refusal = refusalOf(standing, faults, keyOf(policy))
  const all =
    refusal === null
      ? [acceptance(standing, policy)]
      : [condition(policy, 'Accepted', 'False', refusal.reason, refusal.message)]
  if (refusal === null && isAttached) all.push(condition(policy, 'Attached', 'True', 'Attached', 'It is in force.'))
  else
    all.push(condition(policy, 'Attached', 'False', 'Pending', refusal === null ? NO_GATEWAY : 'It is not accepted.'))
  if (refusal === null && conflicts.length > 0) {
    all.push(condition(policy, 'Conflicted', 'True', 'Conflicted', faultsText(conflicts, keyOf(policy))))
  }
  if (faults.some(({ type }) => type === 'ResolvedRefs'))
    all.push(conditionOf(policy, 'ResolvedRefs', faults, RESOLVED))
  return all
}

function acceptance({ unfit }: Standing, policy: KubernetesObject): Condition {
  if (unfit.length === 0) return condition(policy, 'Accepted', 'True', ACCEPTED.reason, ACCEPTED.message)
  return condition(policy, 'Accepted', 'True', 'PartiallyValid', faultsText(unfit, keyOf(policy)))
}

const ACCEPTED: Good = { reason: 'Accepted', message: 'It is in order.' }
const RESOLVED: Good = { reason: 'ResolvedRefs', message: 'All that it refers to is found.' }
const NO_TARGET = 'what it is for cannot be read, so it is nowhere in force, and what it is to guard is open'
const NO_GATEWAY = 'No Gateway of this controller leads to its target.'

interface Refusal {
  readonly reason: string
  readonly message: string
}

/** Why nothing of a policy is in force at an ancestor; null: something is. */
function refusalOf(
  { missing, conflicts, unfit, isInForce }: Standing,
  faults: readonly Fault[],
  key: ObjectKey
): Refusal | null {
  if (faults.length > 0) return { reason: 'Invalid', message: faultsText(faults, key) }
  const [none] = missing
  if (none !== undefined && !isInForce) return none
  if (!isInForce && unfit.length > 0) return { reason: 'Invalid', message: faultsText(unfit, key) }
  return isInForce ? null : { reason: 'Conflicted', message: faultsText(conflicts, key) }
}

function fieldCount({ frontend, traffic, backend, authentication }: PolicyContent): number {
  return frontend.size + traffic.size + backend.size + Number(authentication !== null)
}

export function backendStatus(
  backend: KubernetesObject,
  objects: Objects,
  options: PolicyOptions,
  found: readonly Fault[]
): { readonly conditions: readonly Condition[] } {
  const own = keyOf(backend)
  const { faults, isRefused } = translateBackend(backend, objects, options)
  const all = [...faults, ...found].filter(({ place }) => place.key === own)
  const reasons = isRefused ? all : found.filter(({ place }) => place.key === own)
  const refusals = reasons.map((fault): Fault => ({ ...fault, type: 'Accepted', reason: 'Invalid' }))
  return {
    conditions: [
      conditionOf(backend, 'Accepted', refusals, ACCEPTED),
      conditionOf(backend, 'ResolvedRefs', all, RESOLVED)
    ]
  }
}
