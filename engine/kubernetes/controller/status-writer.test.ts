import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { KINDS, type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import type { Status } from './status.ts'
import { StatusWriter } from './status-writer.ts'

const { HTTPRoute } = KINDS
const OURS = 'weir.dev/gateway-controller'
const KEY: ObjectKey = 'HTTPRoute/demo/shop'
const ROUTE: KubernetesObject = {
  apiVersion: HTTPRoute.apiVersion,
  kind: 'HTTPRoute',
  metadata: { name: 'shop', namespace: 'demo' },
  spec: {}
}

const parents = (status: string, name = 'edge', controllerName = OURS): Status => ({
  parents: [
    {
      parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name },
      controllerName,
      conditions: [{ type: 'Accepted', status, reason: 'Reason', message: '', observedGeneration: 1 }]
    }
  ]
})

async function stand(t: TestContext) {
  const server = new ApiServerDouble()
  server.add(ROUTE)
  await server.start()
  const time = new ManualTime()
  const client = new KubernetesClient(server.connection(), { time })
  const logged: string[] = []
  const writer = new StatusWriter({ client, controllerName: OURS, time, log: (_, message) => logged.push(message) })
  t.after(async () => {
    client.close()
    await server.stop()
  })
  const observe = () => writer.observe(server.store.get(HTTPRoute, 'demo', 'shop'))
  observe()
  const desire = async (status: Status) => {
    writer.desire(new Map([[KEY, status]]), true)
    await writer.idle()
  }
  const patches = () => server.calls.filter(({ method }) => method === 'PATCH').length
  const accepted = () => {
    const { parents: list } = server.store.get(HTTPRoute, 'demo', 'shop').status as { parents: KubernetesObject[] }
    return list.map(({ parentRef, conditions }) => [
      (parentRef as { name: string }).name,
      (conditions as { status: string }[])[0]?.status
    ])
  }
  return { server, time, writer, logged, observe, desire, patches, accepted }
}

test('a status is written where it is different, and only there', async (t) => {
  const { writer, desire, observe, patches, accepted, time } = await stand(t)
  writer.lead(true)
  await desire(parents('True'))
  assert.deepEqual(accepted(), [['edge', 'True']])
  observe()
  await time.passNext(1_000)
  await desire(parents('True'))
  assert.equal(patches(), 1)
  await desire(parents('False'))
  assert.deepEqual(accepted(), [['edge', 'False']])
})

test('only the leader writes; a new one writes what is missing', async (t) => {
  const { writer, desire, patches, accepted } = await stand(t)
  await desire(parents('True'))
  assert.equal(patches(), 0)
  writer.lead(true)
  await writer.idle()
  assert.deepEqual(accepted(), [['edge', 'True']])
  writer.lead(false)
  await desire(parents('False'))
  assert.equal(patches(), 1)
})

test('another writer was first: what it has written stays', async (t) => {
  const { server, time, writer, desire, accepted } = await stand(t)
  server.add({ ...ROUTE, status: parents('True', 'theirs', 'example.com/controller') })
  writer.lead(true)
  await desire(parents('True'))
  await time.passNext(1_000)
  await writer.idle()
  assert.deepEqual(accepted(), [
    ['theirs', 'True'],
    ['edge', 'True']
  ])
})

test('two writers that disagree write less and less', async (t) => {
  const { server, time, writer, desire, observe, patches } = await stand(t)
  writer.lead(true)
  await desire(parents('True'))
  while (time.now() < 290_000) {
    server.add({ ...ROUTE, status: parents('False') })
    observe()
    await time.passNext(60_000)
    await writer.idle()
  }
  assert.ok(patches() <= 16, `${patches()}`)
})

test('what may not be written is told once, and tried again later', async (t) => {
  const { server, time, writer, logged, desire, accepted } = await stand(t)
  server.refuse = ({ method }) => (method === 'PATCH' ? { status: 403 } : null)
  writer.lead(true)
  await desire(parents('True'))
  for (let i = 0; i < 3; i++) {
    await time.passNext(10_000)
    await writer.idle()
  }
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /^the status of HTTPRoute demo\/shop could not be written: PATCH .*\/status: 403 /)
  server.refuse = () => null
  await time.passNext(10_000)
  await writer.idle()
  assert.deepEqual(accepted(), [['edge', 'True']])
})

test('what is not said any more is taken back; an object that is gone is forgotten', async (t) => {
  const { server, time, writer, desire, patches, accepted } = await stand(t)
  writer.lead(true)
  await desire(parents('True'))
  writer.desire(new Map(), true)
  await writer.idle()
  assert.deepEqual(accepted(), [])
  server.store.delete(HTTPRoute, 'demo', 'shop')
  await desire(parents('True'))
  writer.forget(KEY)
  await desire(parents('False'))
  assert.equal(patches(), 3)
  assert.equal(time.next === null || time.next > 1_000, true)
})

test('while objects change statuses are written one at a time, and together behind that', async () => {
  const time = new ManualTime()
  const underWay: PromiseWithResolvers<KubernetesObject>[] = []
  const client = {
    patchStatus: () => {
      const write = Promise.withResolvers<KubernetesObject>()
      underWay.push(write)
      return write.promise
    },
    get: async () => null
  }
  const writer = new StatusWriter({ client, controllerName: OURS, time, log: () => {} })
  const routes = Array.from({ length: 20 }, (_, i) => ({ ...ROUTE, metadata: { ...ROUTE.metadata, name: `r${i}` } }))
  for (const route of routes) writer.observe(route)
  writer.lead(true)
  await writer.idle()
  const answer = async () => {
    const write = underWay.shift()!
    write.resolve({ ...ROUTE, status: {} })
    await new Promise((resolve) => setImmediate(resolve))
  }
  writer.desire(new Map(routes.map((route) => [keyOf(route), parents('True')])), true)
  assert.equal(underWay.length, 1)
  await answer()
  assert.equal(underWay.length, 1)
  time.pass(250)
  await answer()
  assert.equal(underWay.length, 8)
})
