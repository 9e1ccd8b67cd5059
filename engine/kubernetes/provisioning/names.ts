/** Names and labels of what is made for a Gateway (GEP-1762). */
import { createHash } from 'node:crypto'
import type { KubernetesObject, ObjectMeta } from '#engine/kubernetes/objects/object.ts'
import { API_VERSION, GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'

export const GATEWAY_NAME_LABEL = `${GATEWAY_GROUP}/gateway-name`
const CLASS_NAME_LABEL = `${GATEWAY_GROUP}/gateway-class-name`

/** Of the pods of a Deployment: a change of it replaces them. */
export const CONFIG_HASH_ANNOTATION = `${API_VERSION.split('/')[0]}/config-hash`

/** RFC 1035: what names of Services must be, and values of labels may be. */
const NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const NAME_CHARS_MAX = 63
const HASH_CHARS = 8

/** As it is, or, where that is no name of a Service, what is left of it with a hash of all of it. */
export function shortName(name: string): string {
  if (name.length <= NAME_CHARS_MAX && NAME.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS)
  const plain = name.replaceAll('.', '-').slice(0, NAME_CHARS_MAX - HASH_CHARS - 'gw--'.length)
  return `gw-${plain}-${hash}`
}

/** Of all objects of a Gateway: NAME-CLASS. */
export const objectsName = (gateway: KubernetesObject, gatewayClass: KubernetesObject): string =>
  shortName(`${gateway.metadata.name}-${gatewayClass.metadata.name}`)

/** By which the pods of a Gateway are known. They never change: a Deployment keeps its selector for life. */
export const selectorOf = ({ metadata }: KubernetesObject): Readonly<Record<string, string>> => ({
  [GATEWAY_NAME_LABEL]: shortName(metadata.name)
})

/** What all objects of a Gateway, and its pods, have in common. */
export function commonMeta(
  gateway: KubernetesObject,
  gatewayClass: KubernetesObject
): Pick<ObjectMeta, 'labels' | 'annotations'> {
  const infrastructure = objectOf(objectOf(gateway.spec).infrastructure)
  return {
    labels: {
      'app.kubernetes.io/name': 'weir',
      'app.kubernetes.io/managed-by': 'weir-controller',
      ...textsOf(infrastructure.labels),
      ...selectorOf(gateway),
      [CLASS_NAME_LABEL]: shortName(gatewayClass.metadata.name)
    },
    annotations: textsOf(infrastructure.annotations)
  }
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(objectOf(value)).flatMap(([key, one]) => (typeof one === 'string' ? [[key, one]] : []))
  return Object.fromEntries(entries)
}

/** With the Gateway gone, its objects go. */
export const ownerReference = ({ apiVersion, kind, metadata }: KubernetesObject): Raw => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? '',
  controller: true
})

/** Whether an object that is there is the Gateway's own. */
export function isOwnedBy(object: KubernetesObject, gateway: KubernetesObject): boolean {
  const { ownerReferences } = object.metadata as ObjectMeta & { readonly ownerReferences?: unknown }
  const owners = Array.isArray(ownerReferences) ? ownerReferences.map(objectOf) : []
  return owners.some(({ uid, controller }) => controller === true && text(uid) === gateway.metadata.uid)
}
