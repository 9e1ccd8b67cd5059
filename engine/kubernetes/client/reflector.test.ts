import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KINDS, type KubernetesObject, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { KubernetesClient } from './client.ts'
import { Reflector } from './reflector.ts'

const { HTTPRoute } = KINDS
/** Pauses between attempts are shorter, and deadlines of requests longer. */
const PAUSE_MS_MAX = 10_000

const route = (name: string, port = 80, namespace = 'demo'): KubernetesObject => ({
  apiVersion: HTTPRoute.apiVersion,
  kind: HTTPRoute.kind,
  metadata: { name, namespace },
  spec: { port }
})

interface Options {
  readonly token?: () => string
  readonly refused?: () => void
  readonly pageBytesMax?: number
  readonly namespace?: string
  readonly keep?: (object: KubernetesObject) => KubernetesObject | null
}

async function stand(t: TestContext, objects: readonly KubernetesObject[] = [], options: Options = {}) {
  const server = new ApiServerDouble()
  for (const object of objects) server.add(object)
  await server.start()
  const time = new ManualTime()
  const { token = () => null, refused = () => {}, namespace, keep, pageBytesMax } = options
  const connection = server.connection(token)
  const client = new KubernetesClient(
    { ...connection, credentials: { ...connection.credentials, refused } },
    { time, ...(pageBytesMax === undefined ? {} : { pageBytesMax }) }
  )
  const store = new ObjectStore()
  const changes: ObjectKey[][] = []
  const logged: string[] = []
  const seen = new Set<() => void>()
  const reflector = new Reflector({
    client,
    kind: HTTPRoute,
    store,
    ...(namespace === undefined ? {} : { scope: { namespace } }),
    ...(keep === undefined ? {} : { keep }),
    onChange: (keys) => {
      changes.push([...keys])
      for (const call of seen) call()
    },
    log: (level, message) => logged.push(`${level} ${message}`),
    time
  })
  t.after(async () => {
    await reflector.stop()
    client.close()
    await server.stop()
  })
  reflector.start()
  /** Lets pauses pass until the store is as the server. */
  const settled = async (): Promise<void> => {
    const expected = () => server.store.list(HTTPRoute, namespace ?? '')
    while (!isSame(store.list('HTTPRoute'), expected())) {
      const isChanged = new Promise<void>((resolve) => seen.add(resolve))
      await Promise.race([isChanged, time.passNext(PAUSE_MS_MAX)])
      seen.clear()
    }
  }
  const watching = () => server.until(() => server.watches.size > 0)
  return { server, store, time, changes, logged, reflector, settled, watching }
}

const versions = (objects: readonly KubernetesObject[]) =>
  objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
const isSame = (a: readonly KubernetesObject[], b: readonly KubernetesObject[]) => `${versions(a)}` === `${versions(b)}`
const lists = ({ calls }: ApiServerDouble) => calls.filter(({ query }) => !query.has('watch')).length

test('objects are listed, and followed', async (t) => {
  const { server, store, changes, reflector, settled, watching } = await stand(t, [route('a'), route('b')])
  await reflector.synced
  assert.deepEqual(changes, [['HTTPRoute/demo/a', 'HTTPRoute/demo/b']])
  await watching()
  server.add(route('a', 81))
  await settled()
  assert.deepEqual(store.get('HTTPRoute', 'demo', 'a')?.spec, { port: 81 })
  server.store.delete(HTTPRoute, 'demo', 'b')
  await settled()
  assert.deepEqual(changes.slice(1), [['HTTPRoute/demo/a'], ['HTTPRoute/demo/b']])
  assert.equal(lists(server), 1)
})

test('a list longer than a page comes in pages', async (t) => {
  const routes = Array.from({ length: 1001 }, (_, i) => route(`r${i}`))
  const { server, store, reflector } = await stand(t, routes)
  await reflector.synced
  assert.equal(store.list('HTTPRoute').length, 1001)
  assert.equal(lists(server), 3)
})

test('a page with too many bytes is asked for in smaller ones', async (t) => {
  const routes = Array.from({ length: 40 }, (_, i) => route(`r${i}`))
  const { server, store, reflector } = await stand(t, routes, { pageBytesMax: 4_000 })
  await reflector.synced
  assert.equal(store.list('HTTPRoute').length, 40)
  assert.deepEqual(new Set(server.calls.map(({ query }) => query.get('limit'))).size > 2, true)
})

test('pages that come too late for their version are taken in one piece', async (t) => {
  const routes = Array.from({ length: 501 }, (_, i) => route(`r${i}`))
  const { server, store, reflector } = await stand(t, routes)
  server.refuse = ({ query }) => {
    if (query.has('continue')) server.store.compact()
    return null
  }
  await reflector.synced
  assert.equal(store.list('HTTPRoute').length, 501)
  assert.deepEqual(
    server.calls.slice(0, 3).map(({ query }) => query.get('limit')),
    ['500', '500', null]
  )
})

test('an API server that goes and comes back: what is known stays, and the watch goes on where it was', async (t) => {
  const { server, store, logged, settled, reflector, watching } = await stand(t, [route('a'), route('b')])
  await reflector.synced
  await watching()
  await server.stop()
  server.add(route('a', 81))
  server.add(route('c'))
  assert.equal(store.list('HTTPRoute').length, 2)
  await server.start()
  await settled()
  assert.equal(lists(server), 1)
  assert.ok(
    logged.some((line) => line.startsWith('warn httproutes: GET /apis/gateway.networking.k8s.io/v1/httproutes'))
  )
  assert.equal(logged.at(-1), 'info httproutes: watched again')
})

test('after a compaction the list says what is different, and only that', async (t) => {
  const { server, changes, reflector, settled, watching } = await stand(t, [route('a'), route('b'), route('c')])
  await reflector.synced
  await watching()
  await server.stop()
  server.add(route('b', 81))
  server.store.delete(HTTPRoute, 'demo', 'c')
  server.add(route('d'))
  server.store.compact()
  changes.length = 0
  await server.start()
  await settled()
  assert.deepEqual(changes, [['HTTPRoute/demo/b', 'HTTPRoute/demo/d', 'HTTPRoute/demo/c']])
  assert.equal(lists(server), 2)
})

test('a version that the API server has forgotten is no trouble', async (t) => {
  const { server, logged, reflector, settled, watching } = await stand(t, [route('a')])
  await reflector.synced
  await watching()
  for (const watch of server.watches) watch.end()
  server.add(route('b'))
  server.store.compact()
  await settled()
  assert.equal(lists(server), 2)
  assert.deepEqual(logged, [])
})

test('a bookmark is enough to survive a compaction', async (t) => {
  const { server, reflector, settled, watching } = await stand(t, [route('a')])
  await reflector.synced
  await watching()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
  server.store.compact()
  server.bookmark()
  // An event behind the bookmark: it has been read when this one has.
  server.add(route('a', 81))
  await settled()
  await server.stop()
  server.add(route('a', 82))
  await server.start()
  await settled()
  assert.equal(lists(server), 1)
})

test('a watch that is cut at any byte loses nothing', async (t) => {
  const { server, reflector, settled, watching } = await stand(t, [route('a')])
  await reflector.synced
  await watching()
  const event = JSON.stringify({ type: 'MODIFIED', object: server.store.list(HTTPRoute, '')[0] })
  for (let bytesMax = 0; bytesMax <= event.length + 1; bytesMax++) {
    server.watchFaults.push({ bytesMax })
    for (const watch of server.watches) watch.end()
    server.add(route('a', 1000 + bytesMax))
    server.add(route('b', 1000 + bytesMax))
    await settled()
  }
  assert.equal(lists(server), 1)
})

test('what is no event is left out, and what is no JSON ends the watch', async (t) => {
  const nameless = JSON.stringify({ type: 'ADDED', object: { metadata: {} } })
  const { server, logged, reflector, settled, watching } = await stand(t, [route('a')])
  await reflector.synced
  await watching()
  server.watchFaults.push({ text: `${nameless}\n{"type":"SOMETHING"}\nnull\n` }, { text: '{"type":"ADD\n' })
  for (const watch of server.watches) watch.end()
  server.add(route('a', 81))
  await settled()
  for (const watch of server.watches) watch.end()
  server.add(route('a', 82))
  await settled()
  assert.equal(lists(server), 1)
  const left = logged.filter((line) => line.startsWith('warn httproutes: left out'))
  assert.equal(left.length, 3)
  assert.ok(logged.some((line) => line.includes('is no JSON')))
})

test('one object that cannot be kept leaves the others alone', async (t) => {
  const keep = (object: KubernetesObject) => {
    if (object.metadata.name === 'bad') throw new TypeError('spec is no object')
    return object
  }
  const { store, logged, reflector } = await stand(t, [route('a'), route('bad'), route('c')], { keep })
  await reflector.synced
  assert.equal(store.list('HTTPRoute').length, 2)
  assert.deepEqual(logged, ['warn httproutes: left out demo/bad: spec is no object'])
})

test('a kind that is missing is tried again, and told once; it is empty until then', async (t) => {
  const { server, store, time, logged, reflector, settled } = await stand(t)
  server.refuse = () => ({ status: 404 })
  await reflector.synced
  for (let i = 0; i < 5; i++) await time.passNext(PAUSE_MS_MAX)
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /the API server has no HTTPRoute of gateway.networking.k8s.io\/v1/)
  server.add(route('a'))
  server.refuse = () => null
  await settled()
  assert.equal(store.list('HTTPRoute').length, 1)
})

test('a kind that is missing for a moment keeps its objects, and for long loses them', async (t) => {
  const { server, store, time, reflector, watching } = await stand(t, [route('a')])
  await reflector.synced
  await watching()
  server.refuse = () => ({ status: 404 })
  for (const watch of server.watches) watch.end()
  await time.passNext(PAUSE_MS_MAX)
  await time.passNext(PAUSE_MS_MAX)
  assert.equal(store.list('HTTPRoute').length, 1)
  while (store.list('HTTPRoute').length > 0) await time.passNext(PAUSE_MS_MAX)
  assert.ok(time.now() >= 60_000)
})

test('what it may not read is no empty list: nothing is in sync, and it is told once', async (t) => {
  const { server, time, logged, reflector, settled } = await stand(t, [route('a')])
  server.refuse = () => ({ status: 403 })
  let isSynced = false
  void reflector.synced.then(() => {
    isSynced = true
  })
  for (let i = 0; i < 4; i++) await time.passNext(PAUSE_MS_MAX)
  assert.equal(isSynced, false)
  assert.equal(logged.length, 1)
  server.refuse = () => null
  await settled()
  await reflector.synced
})

test('a token that has expired is read again at once', async (t) => {
  let token = 'old'
  const { server, reflector } = await stand(t, [route('a')], {
    token: () => token,
    refused: () => {
      token = 'new'
    }
  })
  server.tokens.set('new', { username: 'weir' })
  await reflector.synced
  assert.deepEqual(
    server.calls.slice(0, 2).map((call) => call.token),
    ['old', 'new']
  )
})

test('a server that is silent for longer than the watch may take is left', async (t) => {
  const { server, time, reflector, settled, watching } = await stand(t, [route('a')])
  server.watchFaults.push({ isSilent: true })
  await reflector.synced
  await watching()
  server.add(route('a', 81))
  // Half of the chance: 450 s, and the grace above.
  time.pass(480_000)
  await settled()
  assert.equal(lists(server), 1)
})

test('a pause that the API server asks for is kept', async (t) => {
  const { server, time, reflector } = await stand(t, [route('a')])
  server.refuse = () => ({ status: 429, headers: { 'retry-after': '7' } })
  await server.until(() => server.calls.length === 1)
  server.refuse = () => null
  await time.passNext(7_000)
  await reflector.synced
  assert.equal(time.now(), 7_000)
})

test('one namespace alone is watched', async (t) => {
  const objects = [route('a'), route('b', 80, 'other')]
  const { store, reflector } = await stand(t, objects, { namespace: 'other' })
  await reflector.synced
  assert.deepEqual(
    store.list('HTTPRoute').map(({ metadata }) => metadata.name),
    ['b']
  )
})
