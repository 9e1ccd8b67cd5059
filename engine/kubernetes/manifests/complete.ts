/** What a cluster has beside the objects of a manifest, and what its API server writes into them. */
import { KINDS, type KindName, type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'

export const DEFAULT_NAMESPACE = 'default'
/** What installations have (scripts/package): manifests leave it out. */
export const INSTALLED_CLASS = 'weir'

/** With its namespace, and as if it had just been created. `kind`: what it has been recognized as. */
export function created(kind: KindName, raw: Raw): KubernetesObject {
  const { namespace, ...metadata } = raw.metadata as KubernetesObject['metadata']
  const placed = KINDS[kind].isNamespaced ? { namespace: namespace ?? DEFAULT_NAMESPACE } : {}
  const object: KubernetesObject = {
    ...(kind === 'Secret' ? inData(raw) : raw),
    apiVersion: KINDS[kind].apiVersion,
    kind,
    metadata: { ...metadata, ...placed, generation: 1 }
  }
  return { ...object, metadata: { ...object.metadata, uid: keyOf(object) } }
}

/** `stringData` is written only: an API server puts it into `data`, over what is there. */
function inData({ stringData, ...secret }: Raw): Raw {
  const texts = Object.entries(objectOf(stringData)) as [string, string][]
  const coded = texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  return { ...secret, data: { ...objectOf(secret.data), ...Object.fromEntries(coded) } }
}

export interface Completed {
  readonly objects: readonly KubernetesObject[]
  /** Gateways whose GatewayClass the manifest does not have, and is not that of the installation: taken for weir's. */
  readonly assumed: readonly KubernetesObject[]
}

/** With the namespaces and the GatewayClasses that the objects are in. */
export function completed(objects: readonly KubernetesObject[]): Completed {
  const known = new Set<string>(objects.map(keyOf))
  const made: KubernetesObject[] = []
  const add = (kind: 'Namespace' | 'GatewayClass', name: string, more: object): boolean => {
    const object = created(kind, { ...more, metadata: { name } })
    if (known.has(keyOf(object))) return false
    known.add(keyOf(object))
    made.push(object)
    return true
  }
  const assumed: KubernetesObject[] = []
  for (const object of objects) {
    const { namespace } = object.metadata
    if (namespace !== undefined) add('Namespace', namespace, {})
    const { gatewayClassName } = objectOf(object.spec)
    if (object.kind !== 'Gateway' || typeof gatewayClassName !== 'string') continue
    const isAssumed = add('GatewayClass', gatewayClassName, { spec: { controllerName: CONTROLLER_NAME } })
    if (isAssumed && gatewayClassName !== INSTALLED_CLASS) assumed.push(object)
  }
  return { objects: [...objects, ...made].map(labelled), assumed }
}

/** API servers give each namespace a label with its name, by which selectors find it. */
function labelled(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'Namespace') return object
  const { metadata } = object
  return {
    ...object,
    metadata: { ...metadata, labels: { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name } }
  }
}
