/** `weir controller` in a cluster, as its plain manifests install it, with one replica. */
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { KINDS, type KubernetesObject, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { BUDGET, DEPLOYMENT, SERVICE_ACCOUNT } from './cluster/kinds.ts'

/** The class of Gateways that the manifests make. */
export const GATEWAY_CLASS = 'weir'
export const CONTROLLER_NAMESPACE = 'weir-system'
const MANIFESTS = new URL('../package/kubernetes.yaml', import.meta.url)

const rbac = (kind: string, plural: string, isNamespaced: boolean): ObjectKind => ({
  kind,
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural,
  isNamespaced
})
const INSTALLED: readonly ObjectKind[] = [
  KINDS.Namespace,
  SERVICE_ACCOUNT,
  rbac('ClusterRole', 'clusterroles', false),
  rbac('ClusterRoleBinding', 'clusterrolebindings', false),
  rbac('Role', 'roles', true),
  rbac('RoleBinding', 'rolebindings', true),
  KINDS.Service,
  DEPLOYMENT,
  BUDGET,
  KINDS.GatewayClass
]

/** Throws an Error when there is something in the manifests that is not known here. */
export async function installController(client: KubernetesClient): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(MANIFESTS, 'utf8'))) {
    const object = document.toJS() as KubernetesObject | null
    if (object === null) continue
    const kind = INSTALLED.find((one) => one.kind === object.kind)
    if (kind === undefined) throw new Error(`nobody knows how a ${object.kind} is installed`)
    const installed = kind === DEPLOYMENT ? withOneReplica(object) : object
    await client.apply(kind, installed, { fieldManager: 'conformance' })
  }
}

/** The others would only wait. */
const withOneReplica = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  spec: { ...(object.spec as object), replicas: 1 }
})
