/** GatewayClasses of this controller. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { objectOf, text } from '#engine/schema/placed.ts'
import { SUPPORTED_FEATURES } from './features.ts'
import { type Parameters, parametersOf } from './parameters.ts'

export const isOfController = (one: KubernetesObject, controllerName: string): boolean =>
  contained(
    one,
    () => objectOf(one.spec).controllerName === controllerName,
    () => false
  )

/** Of a Gateway, when this controller carries it out. */
export function classOf(gateway: KubernetesObject, objects: Objects, controllerName: string): KubernetesObject | null {
  const name = contained(
    gateway,
    () => text(objectOf(gateway.spec).gatewayClassName),
    () => undefined
  )
  const found = name === undefined ? undefined : objects.get('GatewayClass', '', name)
  return found !== undefined && isOfController(found, controllerName) ? found : null
}

export function classParameters(gatewayClass: KubernetesObject, objects: Objects): Parameters {
  const read = (): Parameters => {
    const { parametersRef } = objectOf(gatewayClass.spec)
    const namespace = text(objectOf(parametersRef).namespace)
    return parametersOf(gatewayClass, parametersRef, ['spec', 'parametersRef'], namespace, objects)
  }
  return contained(gatewayClass, read, (fault) => ({ rawConfig: null, faults: [fault] }))
}

export function classStatus(gatewayClass: KubernetesObject, objects: Objects) {
  const { faults } = classParameters(gatewayClass, objects)
  const good = { reason: 'Accepted', message: 'Gateways of this class are carried out' }
  return {
    conditions: [conditionOf(gatewayClass, 'Accepted', faults, good)],
    supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name }))
  }
}
