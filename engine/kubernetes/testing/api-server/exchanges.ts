/** What API servers answer to what the client asks: the double and a real one must both answer so. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { LEASE } from '#engine/kubernetes/client/leader-election.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'

export interface ExchangeResult {
  readonly name: string
  /** Null: it was as it should be. */
  readonly why: string | null
}

interface Exchange {
  readonly name: string
  /** `seen`: answers of the exchanges before, by names. */
  readonly ask: (client: KubernetesClient, seen: ReadonlyMap<string, KubernetesObject>) => Promise<unknown>
  /** Code and reason of a Status, or what the answer must have at least. */
  readonly refused?: readonly [code: number, reason: string]
  readonly has?: unknown
}

const NAMESPACE = 'exchanges'
const { ConfigMap, GatewayClass, HTTPRoute, Namespace } = KINDS
const MANAGER = { fieldManager: 'weir-tests' }

const configMap = (name: string, data: object, labels = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE, labels },
  data
})

const route = (name: string, port: number, status?: object): KubernetesObject => ({
  apiVersion: HTTPRoute.apiVersion,
  kind: 'HTTPRoute',
  metadata: { name, namespace: NAMESPACE },
  spec: { rules: [{ backendRefs: [{ name: 'shop', port }] }] },
  ...(status === undefined ? {} : { status })
})

const lease = (resourceVersion?: string): KubernetesObject => ({
  apiVersion: LEASE.apiVersion,
  kind: 'Lease',
  metadata: { name: 'leader', namespace: NAMESPACE, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  spec: { holderIdentity: 'one' }
})

const PARENT = {
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' },
  controllerName: 'weir.dev/gateway-controller',
  conditions: [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z'
    }
  ]
}

const version = (object: KubernetesObject | undefined): string => object?.metadata.resourceVersion ?? ''
/** The field of an object that shows whether it was written. */
const same = (a: KubernetesObject | undefined, b: KubernetesObject) => ({ same: version(a) === version(b) })
const names = (objects: readonly KubernetesObject[]) => objects.map(({ metadata }) => metadata.name)

export const EXCHANGES: readonly Exchange[] = [
  {
    name: 'a namespace is made',
    ask: (client) => client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }),
    has: { metadata: { name: NAMESPACE } }
  },
  {
    name: 'an object is made',
    ask: (client) => client.create(ConfigMap, configMap('one', { a: '1' }, { app: 'shop' })),
    has: { kind: 'ConfigMap', data: { a: '1' } }
  },
  {
    name: 'it is made again',
    ask: (client) => client.create(ConfigMap, configMap('one', {})),
    refused: [409, 'AlreadyExists']
  },
  {
    name: 'an object of no namespace that exists',
    ask: (client) =>
      client.create(ConfigMap, { ...configMap('one', {}), metadata: { name: 'one', namespace: 'missing' } }),
    refused: [404, 'NotFound']
  },
  { name: 'an object that is not there', ask: (client) => client.get(ConfigMap, NAMESPACE, 'two'), has: null },
  {
    name: 'a kind that is not there',
    ask: (client) => client.list({ ...ConfigMap, apiVersion: 'weir.dev/v9', plural: 'nothings' }),
    refused: [404, '']
  },
  {
    name: 'it is replaced in its version',
    ask: async (client, seen) => {
      const { resourceVersion = '' } = seen.get('an object is made')!.metadata
      const object = configMap('one', { b: '2' }, { app: 'shop' })
      return await client.replace(ConfigMap, { ...object, metadata: { ...object.metadata, resourceVersion } })
    },
    has: { data: { b: '2' } }
  },
  {
    name: 'it is replaced in a version that is gone',
    ask: async (client, seen) => {
      const { resourceVersion = '' } = seen.get('an object is made')!.metadata
      const object = configMap('one', { c: '3' })
      return await client.replace(ConfigMap, { ...object, metadata: { ...object.metadata, resourceVersion } })
    },
    refused: [409, 'Conflict']
  },
  {
    name: 'apply makes an object',
    ask: (client) => client.apply(ConfigMap, configMap('two', { a: '1', b: '2' }, { tier: 'test' }), MANAGER),
    has: { data: { a: '1', b: '2' } }
  },
  {
    name: 'apply again changes nothing',
    ask: async (client, seen) =>
      same(
        seen.get('apply makes an object'),
        await client.apply(ConfigMap, configMap('two', { a: '1', b: '2' }, { tier: 'test' }), MANAGER)
      ),
    has: { same: true }
  },
  {
    name: 'what is not applied any more goes',
    ask: async (client) => {
      const { data } = await client.apply(ConfigMap, configMap('two', { a: '3' }, { tier: 'test' }), MANAGER)
      return { data: JSON.stringify(data) }
    },
    has: { data: '{"a":"3"}' }
  },
  {
    name: 'lists by labels',
    ask: async (client) => {
      const of = async (labelSelector: string) =>
        names((await client.list(ConfigMap, { namespace: NAMESPACE, labelSelector })).items).join()
      return [await of('app=shop'), await of('app!=shop,tier'), await of('tier in (test,live)'), await of('!app,!tier')]
    },
    // Controllers of a whole cluster make kube-root-ca.crt in each namespace; there are none.
    has: ['one', 'two', 'two', '']
  },
  {
    name: 'an object of the cluster',
    ask: (client) =>
      client.create(GatewayClass, {
        apiVersion: GatewayClass.apiVersion,
        kind: 'GatewayClass',
        metadata: { name: 'exchanges' },
        spec: { controllerName: 'weir.dev/gateway-controller' }
      }),
    has: { metadata: { generation: 1 } }
  },
  {
    name: 'a route, its status left out',
    ask: (client) => client.create(HTTPRoute, route('shop', 80, { parents: [PARENT] })),
    has: { metadata: { generation: 1 } }
  },
  {
    name: 'a status is merged, and raises no generation',
    ask: (client) => client.patchStatus(HTTPRoute, route('shop', 80), { parents: [PARENT] }),
    has: { metadata: { generation: 1 }, status: { parents: [PARENT] } }
  },
  {
    name: 'the same status changes nothing',
    ask: async (client, seen) =>
      same(
        seen.get('a status is merged, and raises no generation'),
        await client.patchStatus(HTTPRoute, route('shop', 80), { parents: [PARENT] })
      ),
    has: { same: true }
  },
  {
    name: 'a status in a version that is gone',
    ask: (client, seen) => client.patchStatus(HTTPRoute, seen.get('a route, its status left out')!, { parents: [] }),
    refused: [409, 'Conflict']
  },
  {
    name: 'a spec raises the generation, and leaves the status',
    ask: (client) => client.apply(HTTPRoute, route('shop', 81), MANAGER),
    has: { metadata: { generation: 2 }, status: { parents: [PARENT] } }
  },
  {
    name: 'a Lease is taken',
    ask: (client) => client.create(LEASE, lease()),
    has: { spec: { holderIdentity: 'one' } }
  },
  {
    name: 'a Lease is taken in a version that is gone',
    ask: (client) => client.replace(LEASE, lease('1')),
    refused: [409, 'Conflict']
  },
  {
    name: 'a token of a user',
    ask: (client) => client.reviewToken('token-of-nobody'),
    has: { authenticated: true, username: 'nobody', uid: '2' }
  },
  { name: 'a token of no user', ask: (client) => client.reviewToken('unknown'), has: { authenticated: false } },
  {
    name: 'a token for another audience',
    ask: (client) => client.reviewToken('token-of-nobody', ['weir']),
    has: { authenticated: false }
  },
  {
    name: 'a watch tells what has happened since',
    ask: async (client, seen) => {
      const { resourceVersion = '' } = seen.get('an object is made')!.metadata
      await client.delete(ConfigMap, NAMESPACE, 'one')
      return await eventsOf(client, resourceVersion, 4)
    },
    has: ['MODIFIED one', 'ADDED two', 'MODIFIED two', 'DELETED one']
  },
  {
    name: 'an object that is gone is deleted',
    ask: (client) => client.delete(ConfigMap, NAMESPACE, 'one'),
    has: false
  }
]

/** The first `count` events of ConfigMaps after a version. */
async function eventsOf(client: KubernetesClient, resourceVersion: string, count: number): Promise<string[]> {
  const events: string[] = []
  const enough = new AbortController()
  const watching = client.watch(
    ConfigMap,
    { namespace: NAMESPACE },
    {
      resourceVersion,
      timeoutSeconds: 30,
      signal: enough.signal,
      onEvent: (event) => {
        if ('object' in event) events.push(`${event.type} ${event.object.metadata.name}`)
        if (events.length === count) enough.abort()
      }
    }
  )
  // Ends with an error, because it is aborted.
  await watching.catch(() => 'closed')
  return events
}

export async function runExchanges(client: KubernetesClient): Promise<readonly ExchangeResult[]> {
  const seen = new Map<string, KubernetesObject>()
  const results: ExchangeResult[] = []
  for (const exchange of EXCHANGES) {
    let why: string | null
    try {
      const answer = await exchange.ask(client, seen)
      seen.set(exchange.name, answer as KubernetesObject)
      why = exchange.refused === undefined ? difference(exchange.has, answer, '') : 'is not refused'
    } catch (error) {
      why = refusalOf(exchange, error as Error)
    }
    results.push({ name: exchange.name, why })
  }
  return results
}

function refusalOf({ refused }: Exchange, error: Error): string | null {
  if (refused === undefined || !(error instanceof ApiError)) return error.message
  const [code, reason] = refused
  return error.status === code && (reason === '' || error.reason === reason) ? null : `${error.reason} ${error.message}`
}

/** What `answer` lacks of `has`. */
function difference(has: unknown, answer: unknown, at: string): string | null {
  if (typeof has !== 'object' || has === null || Array.isArray(has))
    return isDeepStrictEqual(has, answer) ? null : `${at}: ${JSON.stringify(answer)}`
  for (const [key, value] of Object.entries(has)) {
    const why = difference(value, (answer as Record<string, unknown> | null)?.[key], `${at}.${key}`)
    if (why !== null) return why
  }
  return null
}
