/** Pods of InferencePools and the endpoints that they are, at a double of an API server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import type { Translation } from '#engine/kubernetes/translation/index.ts'
import { object, startController, startServer } from './controller.fixture.ts'
import { POD } from './mesh-workloads.ts'

const LIST = 'models.demo.inference.cluster.local'

const pool = (app = 'vllm', ports: readonly number[] = [8000]): KubernetesObject =>
  object('InferencePool', 'models', {
    spec: { selector: { matchLabels: { app } }, targetPorts: ports.map((number) => ({ number })) }
  })

const pod = (name: string, podIP: string, isReady = true, app = 'vllm'): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'demo', labels: { app } },
  spec: {},
  status: { phase: 'Running', podIP, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] }
})

/** The translation of the fixture, which names the pool beside the Service. */
const namingThePool = <T extends { update(objects: Objects, changed: never): Translation }>(translator: T): T => {
  const services = new Set(['demo/shop', 'demo/models.inference'])
  const update = translator.update.bind(translator)
  const named = new WeakMap<object, object>()
  translator.update = (...of) => {
    const made = update(...of)
    const outputs = [...made.gateways].map(([name, output]): [string, typeof output] => {
      const known = (named.get(output) as typeof output | undefined) ?? { ...output, services }
      named.set(output, known)
      return [name, known]
    })
    return { ...made, gateways: new Map(outputs) }
  }
  return translator
}

async function rig(t: TestContext, server: ApiServerDouble) {
  const made = startController(t, server)
  namingThePool(made.translator as never)
  await made.started
  while (made.streams.length === 0) await immediate()
  const { published } = made.streams[0]!
  const endpoints = () =>
    published
      .at(-1)
      ?.published.endpoints[LIST]?.map(({ host, port }) => `${host}:${port}`)
      .join(' ')
  const until = async (text: string | undefined) => {
    while (endpoints() !== text) await immediate()
  }
  return { published, until, logged: made.logged }
}

test('pods with the labels of a pool are its endpoints, one for each port, while they are ready', async (t) => {
  const server = await startServer(t, pool('vllm', [8000, 8002]), pod('a', '10.0.0.1'), pod('b', '10.0.0.2', false))
  server.add(pod('other', '10.0.0.9', true, 'other'))
  const { published, until } = await rig(t, server)
  await until('10.0.0.1:8000 10.0.0.1:8002')
  // Nobody was told of a pool without pods before they were known.
  assert.deepEqual(published[0]!.published.endpoints[LIST]?.length, 2)
  server.add(pod('b', '10.0.0.2'))
  await until('10.0.0.1:8000 10.0.0.1:8002 10.0.0.2:8000 10.0.0.2:8002')
  server.add({
    ...pod('a', '10.0.0.1'),
    metadata: { ...pod('a', '').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }
  })
  await until('10.0.0.2:8000 10.0.0.2:8002')
  server.store.delete(POD, 'demo', 'b')
  await until('')
})

test('another selector, other ports: the endpoints follow; a pool that goes has none', async (t) => {
  const server = await startServer(t, pool(), pod('a', '10.0.0.1'), pod('b', '10.0.0.2', true, 'sglang'))
  const { until } = await rig(t, server)
  await until('10.0.0.1:8000')
  server.add(pool('vllm', [9000]))
  await until('10.0.0.1:9000')
  server.add(pool('sglang', [9000]))
  await until('10.0.0.2:9000')
  // What had the labels before is not watched any more.
  server.add(pod('c', '10.0.0.3'))
  server.add(pod('d', '10.0.0.4', true, 'sglang'))
  await until('10.0.0.2:9000 10.0.0.4:9000')
  server.store.delete(KINDS.InferencePool, 'demo', 'models')
  await until(undefined)
})

test('only pods of pools are asked for, and none where there is no pool', async (t) => {
  const server = await startServer(t)
  await rig(t, server)
  assert.equal(
    server.calls.some(({ kind }) => kind.plural === POD.plural),
    false
  )
})
