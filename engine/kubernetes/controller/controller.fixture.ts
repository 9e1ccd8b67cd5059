/** A controller at the double of an API server, with a translation and a stream of the test's own. */
import type { TestContext } from 'node:test'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { KINDS, type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Provisioned, ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import type { DataPlane, GatewayName, PublishedGateway } from '#engine/kubernetes/stream/index.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { Stumbles } from '#engine/kubernetes/translation/contained.ts'
import type { GatewayOutput, SnapshotPlace, Translation } from '#engine/kubernetes/translation/index.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import { STATUS_KINDS } from './status-writer.ts'

export const OURS = 'weir.dev/gateway-controller'

export const object = (kind: keyof typeof KINDS, name: string, rest: object = {}): KubernetesObject => ({
  apiVersion: KINDS[kind].apiVersion,
  kind,
  metadata: { name, ...(KINDS[kind].isNamespaced ? { namespace: 'demo' } : {}) },
  ...rest
})

const CLASS = object('GatewayClass', 'weir', { spec: { controllerName: OURS } })
const GATEWAY = object('Gateway', 'edge', {
  spec: { gatewayClassName: 'weir', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] }
})

export async function startServer(t: TestContext, ...objects: KubernetesObject[]): Promise<ApiServerDouble> {
  const server = new ApiServerDouble()
  for (const one of [CLASS, GATEWAY, ...objects]) server.add(one)
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'weir-system' } })
  await server.start()
  t.after(() => server.stop())
  return server
}

const good = (type: string, { metadata }: KubernetesObject) => ({
  ...{ type, status: 'True', reason: type, message: '' },
  observedGeneration: metadata.generation ?? 0
})

/** Everything is accepted. What has not changed is the same object. */
class AcceptingTranslator {
  readonly stumbles = new Stumbles()
  updates = 0
  #before: readonly ObjectKey[] = []
  /** Of all drafts. */
  places: readonly SnapshotPlace[] = []
  readonly #outputs = new Map<KubernetesObject, GatewayOutput>()
  readonly #drafts = new Map<string, GatewayOutput['draft']>()
  readonly #statuses = new Map<ObjectKey, { readonly of: KubernetesObject; readonly status: object }>()

  update(objects: Objects): Translation {
    this.updates++
    if (objects.get('ConfigMap', 'demo', 'fault') !== undefined) throw new TypeError('a fault of the translation')
    const own = objects.list('Gateway').filter(({ spec }) => objectOf(spec).gatewayClassName === 'weir')
    const gateways = own.map((gateway): [string, GatewayOutput] => {
      const { namespace, name } = gateway.metadata
      const known = this.#outputs.get(gateway)
      // A status that is written makes no other configuration.
      const draft = this.#drafts.get(name) ?? ({ backends: {} } as unknown as GatewayOutput['draft'])
      this.#drafts.set(name, draft)
      const places = () => this.places
      const made = known ?? { gateway, draft, places, services: new Set(['demo/shop']), warnings: [] }
      this.#outputs.set(gateway, made)
      return [`${namespace}/${name}`, made]
    })
    const all = STATUS_KINDS.flatMap((kind) => objects.list(kind))
    const statuses = new Map(all.map((one): [ObjectKey, object] => [keyOf(one), this.#statusOf(one)]))
    const changedStatuses = new Set([...this.#before, ...statuses.keys()])
    this.#before = [...statuses.keys()]
    return { gateways: new Map(gateways), statuses, changedStatuses }
  }

  #statusOf(one: KubernetesObject): object {
    const known = this.#statuses.get(keyOf(one))
    if (known?.of === one) return known.status
    const conditions = [good('Accepted', one), ...(one.kind === 'Gateway' ? [good('Programmed', one)] : [])]
    const entry = { parentRef: { name: 'edge' }, controllerName: OURS, conditions }
    const status = one.kind.endsWith('Route') ? { parents: [entry] } : { conditions }
    this.#statuses.set(keyOf(one), { of: one, status })
    return status
  }
}

/** What the controller publishes, and what data planes say. */
export class StreamDouble {
  readonly published: { readonly gateway: GatewayName; readonly published: PublishedGateway }[] = []
  readonly removed: GatewayName[] = []
  planes: readonly DataPlane[] = []
  isClosed = false
  onChange: (gateway: GatewayName) => void = () => {}
  authenticate: (token: string, gateway: GatewayName) => Promise<boolean> = async () => false
  readonly #drafts = new Map<GatewayName, { draft: unknown; version: number }>()

  publish(gateway: GatewayName, published: PublishedGateway): number {
    this.published.push({ gateway, published })
    const known = this.#drafts.get(gateway) ?? { draft: null, version: 0 }
    if (known.draft !== published.draft) known.version++
    known.draft = published.draft
    this.#drafts.set(gateway, known)
    return known.version
  }

  remove(gateway: GatewayName): void {
    this.removed.push(gateway)
    this.#drafts.delete(gateway)
  }

  planesOf = (_gateway: GatewayName): readonly DataPlane[] => this.planes

  dataPlanes(gateway: GatewayName): readonly DataPlane[] {
    return this.planesOf(gateway)
  }

  /** The data planes say something new. */
  say(...planes: Pick<DataPlane, 'inForce' | 'refused'>[]): void {
    this.planes = planes.map((plane, i) => ({ gateway: 'demo/edge', pod: `pod-${i}`, ...plane }))
    this.onChange('demo/edge')
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

export const provisionOne = ({ gateway }: ProvisionInput): Provisioned => {
  const { namespace = '', uid = '' } = gateway.metadata
  const owner = { apiVersion: gateway.apiVersion, kind: 'Gateway', name: 'edge', uid, controller: true }
  const metadata = { name: 'edge-weir', namespace, ownerReferences: [owner] }
  const make = (apiVersion: string, kind: string, spec: object) => ({ apiVersion, kind, metadata, spec })
  const objects = [
    make('v1', 'ServiceAccount', {}),
    make('apps/v1', 'Deployment', { replicas: 1 }),
    make('v1', 'Service', { type: 'LoadBalancer', ports: [{ port: 80 }] })
  ]
  return { objects, absent: [], faults: [] }
}

export function startController(t: TestContext, server: ApiServerDouble, options: Partial<ControllerOptions> = {}) {
  const client = new KubernetesClient(server.connection(() => 'token'))
  const translator = new AcceptingTranslator()
  const streams: StreamDouble[] = []
  const logged: string[] = []
  const controller = new Controller({
    client,
    time: SYSTEM_TIME,
    log: (level, message) => logged.push(`${level} ${message}`),
    ownNamespace: 'weir-system',
    identity: null,
    translator,
    clusterDomain: 'cluster.local',
    controllerName: OURS,
    streamNames: ['weir-controller.weir-system.svc'],
    startStream: async ({ onChange, authenticate }) => {
      const stream = new StreamDouble()
      Object.assign(stream, { onChange, authenticate })
      streams.push(stream)
      return stream
    },
    tokenAudience: 'weir.dev',
    isDataPlane: false,
    backends: [],
    provision: provisionOne,
    addresses: [],
    ...options
  })
  t.after(async () => {
    await controller.stop()
    client.close()
  })
  return { controller, client, translator, streams, logged, started: controller.start() }
}

export const conditionOf = (server: ApiServerDouble, kind: keyof typeof KINDS, name: string, type: string) => {
  const found = server.store.list(KINDS[kind], '').find(({ metadata }) => metadata.name === name)
  const status = (found?.status ?? {}) as { conditions?: Condition[]; parents?: { conditions: Condition[] }[] }
  const conditions = status.conditions ?? status.parents?.[0]?.conditions ?? []
  const condition = conditions.find((one) => one.type === type)
  return condition === undefined ? null : `${condition.status} ${condition.reason} ${condition.message}`.trim()
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}
