/**
 * Pods of InferencePools. Of each pool its own are watched, by the labels of its selector: EndpointSlices have none of
 * them, since no Service stands for a pool, and pods of others would be most of what an API server has.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Time } from '#engine/contract/time.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { Reflector } from '#engine/kubernetes/client/reflector.ts'
import {
  CLUSTER_DOMAIN,
  type IdentityAt,
  type ServiceEndpoint,
  type ServiceEndpoints
} from '#engine/kubernetes/endpoints/index.ts'
import type { KindName, KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore, type Objects } from '#engine/kubernetes/objects/objects.ts'
import { poolKey } from '#engine/kubernetes/translation/inputs.ts'
import { poolList } from '#engine/kubernetes/translation/routes/pools.ts'
import { entriesOf, objectOf, text } from '#engine/schema/placed.ts'
import { plainAddress } from '#engine/upstream/address-guard.ts'
import { POD } from './mesh-workloads.ts'

export interface PoolWorkloadsOptions {
  readonly client: KubernetesClient
  /** Those of the controller: pools are among them. */
  readonly objects: Objects
  readonly clusterDomain?: string
  /** Absent: they are of no mesh. */
  readonly identityAt?: IdentityAt
  readonly time: Time
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
  /** The endpoints of these pools are others (poolKey), or are known now. */
  readonly onChange: (pools: ReadonlySet<string>) => void
}

/** A pod as it is kept: one that takes requests. */
interface Server extends KubernetesObject {
  readonly address: string
}

/** A pool whose pods nobody may list must not keep the rest of its Gateway from data planes for longer. */
const LIST_MS_MAX = 10_000

interface Row {
  readonly reflector: Reflector
  readonly store: ObjectStore
  /** What it watches by. */
  readonly labels: unknown
  readonly ports: readonly number[]
  isKnown: boolean
  endpoints: readonly ServiceEndpoint[]
}

export class PoolWorkloads {
  readonly #options: PoolWorkloadsOptions
  /** By poolKey. */
  readonly #rows = new Map<string, Row>()
  readonly #stopping = new Set<Promise<void>>()

  constructor(options: PoolWorkloadsOptions) {
    this.#options = options
  }

  /** Takes changes of objects; null: all. Returns the pools whose endpoints are others at once. */
  update(changed: Iterable<ObjectKey> | null): ReadonlySet<string> {
    const { objects } = this.#options
    const names = new Set<string>()
    const note = (namespace: string, name: string) => names.add(`${namespace}/${name}`)
    if (changed === null) {
      for (const { metadata } of objects.list('InferencePool')) note(metadata.namespace ?? '', metadata.name)
      for (const key of this.#rows.keys()) names.add(key.slice(0, -poolKey('').length))
    } else {
      for (const key of changed) {
        const [kind, namespace = '', name = ''] = key.split('/')
        if (kind === 'InferencePool') note(namespace, name)
      }
    }
    return new Set([...names].filter((name) => this.#take(name)).map(poolKey))
  }

  /** Whether it is known which pods all pools among `services` have. */
  isKnown(services: ReadonlySet<string>): boolean {
    for (const [key, row] of this.#rows) if (!row.isKnown && services.has(key)) return false
    return true
  }

  /** Of the pools among `services`. A list that has not changed is the same object as before. */
  endpoints(services: ReadonlySet<string>): ServiceEndpoints {
    const { clusterDomain = CLUSTER_DOMAIN } = this.#options
    const found: Record<string, readonly ServiceEndpoint[]> = {}
    for (const [key, { endpoints }] of this.#rows) {
      if (!services.has(key)) continue
      const [namespace = '', name = ''] = key.slice(0, -poolKey('').length).split('/')
      found[poolList(namespace, name, clusterDomain)] = endpoints
    }
    return found
  }

  /** Workloads of a mesh are others. */
  workloadsChanged(): ReadonlySet<string> {
    return new Set([...this.#rows].filter(([, row]) => this.#renew(row)).map(([key]) => key))
  }

  async stop(): Promise<void> {
    for (const { reflector } of this.#rows.values()) this.#stopping.add(reflector.stop())
    await Promise.all(this.#stopping)
  }

  /** True: its endpoints are others. */
  #take(pool: string): boolean {
    const [namespace = '', name = ''] = pool.split('/')
    const object = this.#options.objects.get('InferencePool', namespace, name)
    const key = poolKey(pool)
    const row = this.#rows.get(key)
    if (object === undefined) {
      if (row !== undefined) this.#drop(key, row)
      return row !== undefined
    }
    const spec = objectOf(object.spec)
    const labels = objectOf(spec.selector).matchLabels
    const ports = entriesOf(spec.targetPorts, []).flatMap(({ raw }) =>
      typeof raw.number === 'number' ? [raw.number] : []
    )
    if (row !== undefined && isDeepStrictEqual(row.labels, labels)) {
      const next = { ...row, ports }
      this.#rows.set(key, next)
      return this.#renew(next)
    }
    if (row !== undefined) this.#drop(key, row)
    this.#watch(key, namespace, labels, ports)
    // Until its pods are known: those of before are not of this selector.
    return row !== undefined
  }

  #watch(key: string, namespace: string, labels: unknown, ports: readonly number[]): void {
    const { client, time, log, onChange } = this.#options
    const store = new ObjectStore()
    const changed = () => {
      const own = this.#rows.get(key)
      if (own?.store === store && own.isKnown && this.#renew(own)) onChange(new Set([key]))
    }
    const known = () => {
      const own = this.#rows.get(key)
      if (own?.store !== store || own.isKnown) return
      own.isKnown = true
      this.#renew(own)
      onChange(new Set([key]))
    }
    const labelSelector = Object.entries(objectOf(labels))
      .map(([label, value]) => `${label}=${String(value)}`)
      .join(',')
    const scope = { namespace, labelSelector }
    const reflector = new Reflector({ client, kind: POD, scope, store, keep: serverOf, onChange: changed, log, time })
    this.#rows.set(key, { reflector, store, labels, ports, isKnown: false, endpoints: [] })
    reflector.start()
    const callOff = time.after(LIST_MS_MAX, known)
    void reflector.synced.then(() => {
      callOff()
      known()
    })
  }

  #drop(key: string, { reflector }: Row): void {
    this.#rows.delete(key)
    const stopped = reflector.stop()
    this.#stopping.add(stopped)
    void stopped.then(() => this.#stopping.delete(stopped))
  }

  /** False: they are as before. */
  #renew(row: Row): boolean {
    const { identityAt = () => undefined } = this.#options
    const servers = row.store.list(POD.kind as KindName) as readonly Server[]
    const addresses = [...new Set(servers.map(({ address }) => address))].sort()
    const endpoints = addresses.flatMap((host) =>
      row.ports.map((port): ServiceEndpoint => {
        const identity = identityAt(host)
        return { host, port, unixPath: null, weight: 1, ...(identity === undefined ? {} : { identity }) }
      })
    )
    if (isDeepStrictEqual(row.endpoints, endpoints)) return false
    row.endpoints = endpoints
    return true
  }
}

/** Null: it takes no requests now. */
function serverOf({ apiVersion, kind, metadata, status }: KubernetesObject): Server | null {
  const { name, namespace = '', resourceVersion, deletionTimestamp } = metadata
  const { podIP, conditions } = objectOf(status)
  const isReady = entriesOf(conditions, []).some(({ raw }) => raw.type === 'Ready' && raw.status === 'True')
  const address = plainAddress(text(podIP) ?? '')
  if (!isReady || deletionTimestamp !== undefined || address === null) return null
  const version = resourceVersion === undefined ? {} : { resourceVersion }
  return { apiVersion, kind, metadata: { name, namespace, ...version }, address }
}
