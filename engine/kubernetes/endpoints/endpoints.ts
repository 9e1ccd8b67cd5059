/** Addresses of a Service: what its EndpointSlices say (discovery.k8s.io/v1). */
import type { WeightedHost } from '#engine/contract/endpoint.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'

/** Of the cluster's DNS, as installers set it up when nobody says otherwise. */
export const CLUSTER_DOMAIN = 'cluster.local'

/** One address of a Service. */
export interface ServiceEndpoint extends WeightedHost {
  /** Data planes in these zones should prefer it; absent: it has no hints. */
  readonly forZones?: readonly string[]
}

/** By "shop.demo.svc.cluster.local:8080", the destination that stands for a Service's port. */
export type ServiceEndpoints = Readonly<Record<string, readonly ServiceEndpoint[]>>

/**
 * The addresses of each port of `service`; an empty list: it has none now. A Service of type ExternalName has no
 * entries: DNS knows it. `slices`: those of the Service, in any order; others are ignored.
 */
export function endpointsOf(
  service: KubernetesObject,
  slices: readonly KubernetesObject[],
  clusterDomain = CLUSTER_DOMAIN
): ServiceEndpoints {
  void [service, slices, clusterDomain]
  return {}
}
