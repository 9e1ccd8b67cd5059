/** Conditions of a BackendTLSPolicy: the same for every Gateway that sends to its Services. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { byAge } from '#engine/kubernetes/translation/attach/age.ts'
import { conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { judged, readTargets, targetsOf } from './backend-tls.ts'

const ACCEPTED = { reason: 'Accepted', message: 'connections are made as it says' }
const NO_TARGET = 'what it is for cannot be read, so connections are made as if it was not there'
const RESOLVED = { reason: 'ResolvedRefs', message: 'all references can be followed' }

export function backendTlsConditions(policy: KubernetesObject, objects: Objects): readonly Condition[] {
  const { services } = readTargets(policy)
  const place = { key: keyOf(policy), path: ['spec', 'targetRefs'] }
  const none: Fault[] = services.length > 0 ? [] : [{ type: 'Accepted', reason: 'Invalid', message: NO_TARGET, place }]
  const faults = [...none, ...conflictsOf(policy, objects), ...judged(policy, objects).faults]
  return [conditionOf(policy, 'Accepted', faults, ACCEPTED), conditionOf(policy, 'ResolvedRefs', faults, RESOLVED)]
}

/** Targets that an older policy has already. */
function conflictsOf(policy: KubernetesObject, objects: Objects): Fault[] {
  const older = objects.list('BackendTLSPolicy', policy.metadata.namespace).filter((other) => byAge(other, policy) < 0)
  return targetsOf(policy).flatMap(({ name, sectionName }, i) => {
    const other = older.find((one) =>
      targetsOf(one).some((target) => target.name === name && target.sectionName === sectionName)
    )
    if (other === undefined) return []
    const message = `BackendTLSPolicy ${other.metadata.name} has this target too, and comes first`
    const place = { key: keyOf(policy), path: ['spec', 'targetRefs', i] }
    return [{ type: 'Accepted', reason: 'Conflicted', message, place }]
  })
}
