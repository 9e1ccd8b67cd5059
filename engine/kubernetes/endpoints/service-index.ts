/** The endpoints of all Services. A change of a slice costs the Service that it belongs to, and no other. */
import { isDeepStrictEqual } from 'node:util'
import { type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { plainAddress } from '#engine/upstream/address-guard.ts'
import {
  CLUSTER_DOMAIN,
  endpointsOf,
  type IdentityAt,
  type ServiceEndpoint,
  type ServiceEndpoints
} from './endpoints.ts'
import { type EndpointSlice, SERVICE_NAME, type SliceEndpoint } from './objects.ts'

/** "namespace/name". */
type ServiceName = string

export class ServiceIndex {
  readonly #objects: Objects
  readonly #clusterDomain: string
  readonly #identityAt: IdentityAt | undefined
  readonly #slices = new Map<ServiceName, Map<ObjectKey, EndpointSlice>>()
  readonly #serviceOf = new Map<ObjectKey, ServiceName>()
  readonly #known = new Map<ServiceName, ServiceEndpoints>()
  /** Answers of `endpoints` since the last change. */
  #answers = new WeakMap<ReadonlySet<ServiceName>, ServiceEndpoints>()

  constructor(objects: Objects, clusterDomain = CLUSTER_DOMAIN, identityAt?: IdentityAt) {
    this.#objects = objects
    this.#identityAt = identityAt
    this.#clusterDomain = clusterDomain
  }

  /** Takes changes of `objects`; null: all of them. Returns the Services whose endpoints are others now. */
  update(changed: Iterable<ObjectKey> | null): ReadonlySet<ServiceName> {
    const touched = new Set<ServiceName>()
    for (const key of changed ?? this.#everything()) {
      const [kind = '', namespace = '', name = ''] = key.split('/')
      if (kind === 'Service') touched.add(`${namespace}/${name}`)
      else if (kind === 'EndpointSlice') this.#takeSlice(key, namespace, name, touched)
    }
    for (const service of touched) if (!this.#renew(service)) touched.delete(service)
    if (touched.size > 0) this.#answers = new WeakMap()
    return touched
  }

  /** Workloads of a mesh are others at `addresses`; null: anywhere. Returns as update does. */
  workloadsChanged(addresses: ReadonlySet<string> | null): ReadonlySet<ServiceName> {
    const touched = new Set<ServiceName>()
    const isThere = ({ addresses: own = [] }: SliceEndpoint) =>
      addresses === null || addresses.has(plainAddress(own[0] ?? '') ?? '')
    for (const [service, slices] of this.#slices) {
      const endpoints = [...slices.values()].flatMap((slice) => slice.endpoints ?? [])
      if (endpoints.some(isThere) && this.#renew(service)) touched.add(service)
    }
    if (touched.size > 0) this.#answers = new WeakMap()
    return touched
  }

  /** Of `services`, by destination. A list that has not changed is the same object as before. */
  endpoints(services: ReadonlySet<ServiceName>): ServiceEndpoints {
    const known = this.#answers.get(services)
    if (known !== undefined) return known
    const found: Record<string, readonly ServiceEndpoint[]> = {}
    for (const service of services) Object.assign(found, this.#known.get(service))
    this.#answers.set(services, found)
    return found
  }

  /** Of the past too: what has gone is a change. */
  #everything(): Set<ObjectKey> {
    const keys = (kind: 'Service' | 'EndpointSlice') =>
      this.#objects.list(kind).map(({ metadata }) => objectKey(kind, metadata.namespace ?? '', metadata.name))
    const known = [...this.#known.keys()].map((name): ObjectKey => `Service/${name as `${string}/${string}`}`)
    return new Set([...known, ...this.#serviceOf.keys(), ...keys('Service'), ...keys('EndpointSlice')])
  }

  #takeSlice(key: ObjectKey, namespace: string, name: string, touched: Set<ServiceName>): void {
    const before = this.#serviceOf.get(key)
    if (before !== undefined) {
      touched.add(before)
      this.#forget(before, key)
    }
    const slice = this.#objects.get('EndpointSlice', namespace, name)
    const owner = slice?.metadata.labels?.[SERVICE_NAME]
    if (slice === undefined || owner === undefined) return
    const service = `${namespace}/${owner}`
    const slices = this.#slices.get(service) ?? new Map<ObjectKey, EndpointSlice>()
    this.#slices.set(service, slices)
    slices.set(key, slice)
    this.#serviceOf.set(key, service)
    touched.add(service)
  }

  #forget(service: ServiceName, key: ObjectKey): void {
    this.#serviceOf.delete(key)
    const slices = this.#slices.get(service)
    slices?.delete(key)
    if (slices?.size === 0) this.#slices.delete(service)
  }

  /** False: they are as before. */
  #renew(service: ServiceName): boolean {
    const [namespace = '', name = ''] = service.split('/')
    const object = this.#objects.get('Service', namespace, name)
    const before = this.#known.get(service)
    if (object === undefined) return this.#known.delete(service)
    const slices = [...(this.#slices.get(service)?.values() ?? [])]
    const next: Record<string, readonly ServiceEndpoint[]> = contained(
      object,
      () => endpointsOf(object, slices, this.#clusterDomain, this.#identityAt),
      () => ({ ...before })
    )
    for (const [destination, list] of Object.entries(next)) {
      const known = before?.[destination]
      if (known !== undefined && isDeepStrictEqual(known, list)) next[destination] = known
    }
    if (before !== undefined && isSame(before, next)) return false
    this.#known.set(service, next)
    return true
  }
}

function isSame(before: ServiceEndpoints, next: ServiceEndpoints): boolean {
  const names = Object.keys(next)
  return names.length === Object.keys(before).length && names.every((name) => before[name] === next[name])
}
