/** `weir controller` in a cluster, as its plain manifests install it, with one replica. */
import { readFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
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

const RETRY_MS = 200
const ACCEPTED_MS_MAX = 120_000

/**
 * Until the class of Gateways is accepted. Throws an Error when it is not, or when there is something in the manifests
 * that is not known here.
 */
export async function installController(client: KubernetesClient): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(MANIFESTS, 'utf8'))) {
    const object = document.toJS() as KubernetesObject | null
    if (object === null) continue
    const kind = INSTALLED.find((one) => one.kind === object.kind)
    if (kind === undefined) throw new Error(`nobody knows how a ${object.kind} is installed`)
    const installed = kind === DEPLOYMENT ? withOneReplica(object) : object
    await client.apply(kind, installed, { fieldManager: 'conformance' })
  }
  const late = AbortSignal.timeout(ACCEPTED_MS_MAX)
  while (!(await isAccepted(client))) {
    if (late.aborted) throw new Error('the controller accepts no GatewayClass: see its log')
    await after(RETRY_MS)
  }
}

interface ClassStatus {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

async function isAccepted(client: KubernetesClient): Promise<boolean> {
  const found = (await client.get(KINDS.GatewayClass, '', GATEWAY_CLASS)) as ClassStatus | null
  return found?.status?.conditions?.some(({ type, status }) => type === 'Accepted' && status === 'True') ?? false
}

/** The others would only wait. */
const withOneReplica = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  spec: { ...(object.spec as object), replicas: 1 }
})
