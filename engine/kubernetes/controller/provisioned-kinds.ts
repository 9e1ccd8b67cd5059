/** Kinds of what data planes run as. */
import { KINDS, type ObjectKind } from '#engine/kubernetes/objects/object.ts'

const kind = (apiVersion: string, name: string, plural: string): ObjectKind => ({
  kind: name,
  apiVersion,
  plural,
  isNamespaced: true
})

export const PROVISIONED_KINDS: readonly ObjectKind[] = [
  kind('v1', 'ServiceAccount', 'serviceaccounts'),
  KINDS.ConfigMap,
  KINDS.Service,
  kind('apps/v1', 'Deployment', 'deployments'),
  kind('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  kind('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers')
]

/** Throws an Error for any other kind. */
export function provisionedKind({ apiVersion, kind: name }: Pick<ObjectKind, 'apiVersion' | 'kind'>): ObjectKind {
  const found = PROVISIONED_KINDS.find((one) => one.kind === name && one.apiVersion === apiVersion)
  if (found === undefined) throw new Error(`${apiVersion}/${name} is nothing that data planes run as`)
  return found
}
