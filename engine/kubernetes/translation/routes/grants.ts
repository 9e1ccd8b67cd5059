/** ReferenceGrant: what objects of other namespaces may refer to. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { entriesOf, objectOf, text } from '#engine/schema/placed.ts'

export interface GrantTarget {
  /** Empty: the core group. */
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Of an object: "" of "v1", "gateway.networking.k8s.io" of "gateway.networking.k8s.io/v1". */
export const groupOf = ({ apiVersion }: Pick<KubernetesObject, 'apiVersion'>): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.lastIndexOf('/')) : ''

/** Whether a ReferenceGrant in the namespace of `to` lets `from` refer to it. */
export function isGranted(from: KubernetesObject, to: GrantTarget, objects: Objects): boolean {
  const group = groupOf(from)
  const grants = ({ spec }: KubernetesObject): boolean => {
    const grant = objectOf(spec)
    return (
      entriesOf(grant.from, []).some(
        ({ raw }) => raw.group === group && raw.kind === from.kind && raw.namespace === from.metadata.namespace
      ) &&
      entriesOf(grant.to, []).some(
        ({ raw }) => raw.group === to.group && raw.kind === to.kind && [undefined, '', to.name].includes(text(raw.name))
      )
    )
  }
  return objects.list('ReferenceGrant', to.namespace).some((one) =>
    contained(
      one,
      () => grants(one),
      () => false
    )
  )
}
