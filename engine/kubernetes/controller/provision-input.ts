/** What provisioning a Gateway reads. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import { gatewayState } from '#engine/kubernetes/translation/attach/gateways.ts'
import { objectOf, text } from '#engine/schema/placed.ts'

/**
 * Of a Gateway that is there, as is its class. Null: a reference to its parameters leads nowhere, which its status
 * says. Defaults in their place would take a data plane out of its mesh, to clear text.
 */
export function provisionInput({ metadata }: KubernetesObject, objects: Objects): ProvisionInput | null {
  const gateway = objects.get('Gateway', metadata.namespace ?? '', metadata.name)!
  const { gatewayClassName, infrastructure } = objectOf(gateway.spec)
  const gatewayClass = objects.get('GatewayClass', '', text(gatewayClassName) ?? '')!
  const ofClass = objectOf(objectOf(gatewayClass.spec).parametersRef)
  const { sets } = gatewayState(gateway, gatewayClass, objects)
  const classParameters = parametersOf(ofClass, text(ofClass.namespace), objects)
  const ofGateway = objectOf(objectOf(infrastructure).parametersRef)
  const gatewayParameters = parametersOf(ofGateway, gateway.metadata.namespace, objects)
  if (classParameters === null || gatewayParameters === null) return null
  return {
    gateway,
    gatewayClass,
    classParameters,
    gatewayParameters,
    listenerSets: sets.flatMap(({ set, faults }) => (faults.length === 0 ? [set] : []))
  }
}

/** Undefined: there is no such reference. Null: it leads nowhere. */
function parametersOf(ref: Readonly<Record<string, unknown>>, namespace: string | undefined, objects: Objects) {
  const name = text(ref.name)
  if (ref.kind !== 'GatewayParameters' || name === undefined || namespace === undefined) return undefined
  return objects.get('GatewayParameters', namespace, name) ?? null
}
