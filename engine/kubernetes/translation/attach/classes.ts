/** GatewayClasses of this controller. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import { objectOf, text } from '#engine/schema/placed.ts'
import { SUPPORTED_FEATURES } from './features.ts'
import { type Parameters, parametersOf } from './parameters.ts'

export const isOfController = ({ spec }: KubernetesObject, controllerName: string): boolean =>
  objectOf(spec).controllerName === controllerName

/** Of a Gateway, when this controller carries it out. */
export function classOf({ spec }: KubernetesObject, objects: Objects, controllerName: string): KubernetesObject | null {
  const name = text(objectOf(spec).gatewayClassName)
  const found = name === undefined ? undefined : objects.get('GatewayClass', '', name)
  return found !== undefined && isOfController(found, controllerName) ? found : null
}

export function classParameters(gatewayClass: KubernetesObject, objects: Objects): Parameters {
  const { parametersRef } = objectOf(gatewayClass.spec)
  const namespace = text(objectOf(parametersRef).namespace)
  return parametersOf(gatewayClass, parametersRef, ['spec', 'parametersRef'], namespace, objects)
}

export function classStatus(gatewayClass: KubernetesObject, objects: Objects) {
  const { faults } = classParameters(gatewayClass, objects)
  const good = { reason: 'Accepted', message: 'Gateways of this class are carried out' }
  return {
    conditions: [conditionOf(gatewayClass, 'Accepted', faults, good)],
    supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name }))
  }
}
