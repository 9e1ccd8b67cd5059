/** What the controller may do at the API server, and nothing else: rules of RBAC (rbac.authorization.k8s.io/v1). */
import { LEASE } from '#engine/kubernetes/client/leader-election.ts'
import { KINDS, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { POD } from './mesh-workloads.ts'
import { PROVISIONED_KINDS } from './provisioned-kinds.ts'
import { STATUS_KINDS } from './status-writer.ts'

export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

const groupOf = ({ apiVersion }: ObjectKind): string => (apiVersion.includes('/') ? apiVersion.split('/')[0]! : '')

/** One rule for each group. */
function rulesOf(kinds: readonly ObjectKind[], verbs: readonly string[], subresource = ''): Rule[] {
  const byGroup = Map.groupBy(kinds, groupOf)
  return [...byGroup].map(([group, own]) => ({
    apiGroups: [group],
    resources: own.map(({ plural }) => `${plural}${subresource}`),
    verbs
  }))
}

/** Where a controller has its Lease and its certificate. */
export const LEASE_NAME = 'weir-controller'
export const CERTIFICATE_SECRET = 'weir-controller-certificate'

const WITH_STATUS: readonly ObjectKind[] = STATUS_KINDS.map((name) => KINDS[name])

/** In all of the cluster, or in the one namespace that is watched: there, all but kinds of the cluster. */
export const CLUSTER_RULES: readonly Rule[] = [
  // Pods are read while a Gateway is part of a mesh.
  ...rulesOf([...Object.values(KINDS), POD], ['list', 'watch']),
  // After a conflict the object is read again.
  ...rulesOf(WITH_STATUS, ['get']),
  ...rulesOf(WITH_STATUS, ['patch'], '/status'),
  // Server-side apply of an object that is not there needs both.
  ...rulesOf(PROVISIONED_KINDS, ['create', 'delete', 'get', 'patch']),
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }
]

/** In the namespace of the controller. */
export const OWN_RULES: readonly Rule[] = [
  { apiGroups: [groupOf(LEASE)], resources: [LEASE.plural], verbs: ['create'] },
  { apiGroups: [groupOf(LEASE)], resources: [LEASE.plural], resourceNames: [LEASE_NAME], verbs: ['get', 'update'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: [CERTIFICATE_SECRET], verbs: ['get', 'update'] }
]
