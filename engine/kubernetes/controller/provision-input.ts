/** What provisioning a Gateway reads. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import { gatewayState } from '#engine/kubernetes/translation/attach/gateways.ts'
import { objectOf, text } from '#engine/schema/placed.ts'

/** Of a Gateway that is there, as is its class; that its references can be followed is what its status says. */
export function provisionInput({ metadata }: KubernetesObject, objects: Objects): ProvisionInput {
  const gateway = objects.get('Gateway', metadata.namespace ?? '', metadata.name)!
  const { gatewayClassName, infrastructure } = objectOf(gateway.spec)
  const gatewayClass = objects.get('GatewayClass', '', text(gatewayClassName) ?? '')!
  const ofClass = objectOf(objectOf(gatewayClass.spec).parametersRef)
  const { sets } = gatewayState(gateway, gatewayClass, objects)
  return {
    gateway,
    gatewayClass,
    classParameters: parametersOf(ofClass, text(ofClass.namespace), objects),
    gatewayParameters: parametersOf(
      objectOf(objectOf(infrastructure).parametersRef),
      gateway.metadata.namespace,
      objects
    ),
    listenerSets: sets.flatMap(({ set, faults }) => (faults.length === 0 ? [set] : []))
  }
}

function parametersOf(ref: Readonly<Record<string, unknown>>, namespace: string | undefined, objects: Objects) {
  const name = text(ref.name)
  if (ref.kind !== 'GatewayParameters' || name === undefined || namespace === undefined) return undefined
  return objects.get('GatewayParameters', namespace, name)
}
