/** Addresses of a Service: what its EndpointSlices say (discovery.k8s.io/v1). */
import { isIP } from 'node:net'
import type { WeightedHost } from '#engine/contract/endpoint.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { plainAddress } from '#engine/upstream/address-guard.ts'
import type { EndpointSlice, Service, ServicePort, SliceEndpoint } from './objects.ts'

/** Of the cluster's DNS, as installers set it up when nobody says otherwise. */
export const CLUSTER_DOMAIN = 'cluster.local'

/** One address of a Service. */
export interface ServiceEndpoint extends WeightedHost {
  /** Data planes in these zones should prefer it; absent: it has no hints. */
  readonly forZones?: readonly string[]
}

/** Destination.identity of the workload of a mesh at an address; undefined: there is none. */
export type IdentityAt = (address: string) => string | undefined

const NO_MESH: IdentityAt = () => undefined

/** By "shop.demo.svc.cluster.local:8080", the destination that stands for a Service's port. */
export type ServiceEndpoints = Readonly<Record<string, readonly ServiceEndpoint[]>>

/**
 * The addresses of each port of `service`, in order; an empty list: it has none now. A Service of type ExternalName has
 * no entries: DNS knows it. `slices`: those of the Service.
 */
export function endpointsOf(
  service: KubernetesObject,
  slices: readonly KubernetesObject[],
  clusterDomain = CLUSTER_DOMAIN,
  identityAt: IdentityAt = NO_MESH
): ServiceEndpoints {
  const { metadata, spec = {} } = service as Service
  if (spec.type === 'ExternalName') return {}
  const entries = (spec.ports ?? [])
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .map((port) => [
      `${metadata.name}.${metadata.namespace}.svc.${clusterDomain}:${port.port}`,
      endpointsOfPort(
        port,
        slices as readonly EndpointSlice[],
        clusterDomain,
        spec.publishNotReadyAddresses === true
      ).map((one) => withIdentity(one, identityAt(one.host)))
    ])
  return Object.fromEntries(entries) as ServiceEndpoints
}

const withIdentity = (endpoint: ServiceEndpoint, identity: string | undefined): ServiceEndpoint =>
  identity === undefined ? endpoint : { ...endpoint, identity }

interface Candidate {
  readonly state: SliceEndpoint
  readonly endpoint: ServiceEndpoint
}

/** Those that are ready. When none is, those that end and still serve (KEP-1672, as kube-proxy has it). */
function endpointsOfPort(
  port: ServicePort,
  slices: readonly EndpointSlice[],
  clusterDomain: string,
  isAny: boolean
): ServiceEndpoint[] {
  const all = slices.flatMap((slice) =>
    contained(
      slice,
      () => candidatesOf(slice, port, clusterDomain),
      () => []
    )
  )
  const ready = isAny ? all : all.filter(({ state }) => isReady(state))
  const chosen = ready.length > 0 ? ready : all.filter(({ state }) => isServingStill(state))
  // While slices are rearranged an endpoint may stand in two of them.
  const byAddress = new Map(chosen.map(({ endpoint }) => [`${endpoint.host} ${endpoint.port}`, endpoint]))
  return [...byAddress].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint)
}

/** What is absent is as its documentation says: ready, and not terminating. */
function isReady({ conditions }: SliceEndpoint): boolean {
  return conditions?.ready ?? true
}

function isServingStill({ conditions }: SliceEndpoint): boolean {
  return conditions?.terminating === true && (conditions.serving ?? conditions.ready ?? true)
}

function candidatesOf(
  { addressType, ports, endpoints }: EndpointSlice,
  { name, port, targetPort }: ServicePort,
  clusterDomain: string
) {
  const found = (ports ?? []).find((one) => (one.name ?? '') === (name ?? '') && (one.protocol ?? 'TCP') === 'TCP')
  if (found === undefined) return []
  // A slice without a number means every port.
  const number = found.port ?? (typeof targetPort === 'number' ? targetPort : port)
  return (endpoints ?? []).flatMap((state): Candidate[] => {
    // The addresses of one endpoint are interchangeable, and consumers use the first.
    const host = hostOf(addressType, state.addresses?.[0], clusterDomain)
    if (host === null) return []
    const zones = (state.hints?.forZones ?? []).map(({ name: zone }) => zone)
    const hints = zones.length === 0 ? {} : { forZones: zones }
    return [{ state, endpoint: { host, port: number, unixPath: null, weight: 1, ...hints } }]
  })
}

const FAMILIES: Readonly<Record<string, number>> = { IPv4: 4, IPv6: 6, FQDN: 0 }

/**
 * In one spelling, by which workloads of a mesh are found. Null: it is none of its type, or a name of the cluster.
 * Those lead to Services, which need a ReferenceGrant, and nobody grants a slice anything.
 */
function hostOf(type: string | undefined, address: string | undefined, clusterDomain: string): string | null {
  if (address === undefined || address === '' || isIP(address) !== FAMILIES[type ?? '']) return null
  if (type !== 'FQDN') return plainAddress(address)
  // The whole name by its type: no search list makes another one of it.
  const name = address.toLowerCase().replace(/\.?$/, '.')
  return name.endsWith(`.${clusterDomain.toLowerCase()}.`) ? null : name
}

/** For a data plane that is of no mesh: it speaks clear text to all of them, as to any server. */
export function withoutIdentities<T extends readonly ServiceEndpoint[] | readonly WeightedHost[] | null>(
  changes: Readonly<Record<string, T>>
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(changes).map(([name, list]) => [name, plain(list)]))
}

function plain<T extends readonly WeightedHost[] | null>(list: T): T {
  if (list === null || list.every(({ identity }) => identity === undefined)) return list
  return list.map(({ identity: _, ...host }) => host) as readonly WeightedHost[] as T
}

/**
 * The hosts for a data plane in `zone` (empty: unknown). Hints count when every endpoint has some and one of them is
 * for the zone, as in kube-proxy: otherwise they are being changed, or would leave the zone without endpoints.
 */
export function hostsForZone(endpoints: readonly ServiceEndpoint[], zone: string): readonly WeightedHost[] {
  if (zone === '' || endpoints.some(({ forZones }) => forZones === undefined)) return endpoints
  const near = endpoints.filter(({ forZones }) => forZones!.includes(zone))
  return near.length > 0 ? near : endpoints
}
