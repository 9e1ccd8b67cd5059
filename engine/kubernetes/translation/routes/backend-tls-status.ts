/** `status.ancestors` of BackendTLSPolicies: those of this controller. */
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import { conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { byAge, judged, targetsOf } from './backend-tls.ts'

/** Gateway API, PolicyStatus. */
const ANCESTORS_MAX = 16

/** A Gateway that sends to a Service. */
export interface AncestorRef {
  readonly namespace: string
  readonly name: string
}

export interface BackendTlsStatus {
  readonly ancestors: readonly {
    readonly ancestorRef: AncestorRef & { readonly group: string; readonly kind: 'Gateway' }
    readonly controllerName: string
    readonly conditions: readonly Condition[]
  }[]
}

/** `usersOf`: the Gateways that send to a Service ("namespace/name"). A policy that no Gateway uses has no ancestors. */
export function backendTlsStatuses(
  objects: Objects,
  controllerName: string,
  usersOf: (service: string) => readonly AncestorRef[]
): ReadonlyMap<ObjectKey, BackendTlsStatus> {
  const taken = new Map<string, KubernetesObject>()
  const statuses = new Map<ObjectKey, BackendTlsStatus>()
  for (const policy of [...objects.list('BackendTLSPolicy')].sort(byAge)) {
    const { namespace = '' } = policy.metadata
    const all = targetsOf(policy)
    const faults: Fault[] = []
    for (const [i, { name, sectionName }] of all.entries()) {
      const target = `${namespace}/${name}/${sectionName ?? ''}`
      const other = taken.get(target)
      if (other === undefined) taken.set(target, policy)
      else faults.push(conflict(policy, other, i))
    }
    faults.push(...judged(policy, objects).faults)
    const conditions = [
      conditionOf(policy, 'Accepted', faults, { reason: 'Accepted', message: 'connections are made as it says' }),
      conditionOf(policy, 'ResolvedRefs', faults, { reason: 'ResolvedRefs', message: 'all references lead somewhere' })
    ]
    const users = new Map(
      all.flatMap(({ name }) => usersOf(`${namespace}/${name}`).map((user) => [`${user.namespace}/${user.name}`, user]))
    )
    const sorted = [...users.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).slice(0, ANCESTORS_MAX)
    statuses.set(keyOf(policy), {
      ancestors: sorted.map(([, { namespace: of, name }]) => ({
        ancestorRef: { group: GATEWAY_GROUP, kind: 'Gateway', namespace: of, name },
        controllerName,
        conditions
      }))
    })
  }
  return statuses
}

function conflict(policy: KubernetesObject, { metadata }: KubernetesObject, index: number): Fault {
  const message = `BackendTLSPolicy ${metadata.name} has this target too, and comes first`
  const place = { key: keyOf(policy), path: ['spec', 'targetRefs', index] }
  return { type: 'Accepted', reason: 'Conflicted', message, place }
}
