/** A controller and its data planes, over loopback: what they have, what they say of it, and what comes again. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import type { ServiceEndpoint, ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { bindOf, routeOf, snapshotOf } from '#engine/testing/snapshot.ts'
import { makeCertificate } from './certificate.ts'
import { SnapshotClient, type SnapshotClientOptions } from './client.ts'
import type { EndpointChanges, Held, ReceivedDraft } from './received.ts'
import { SnapshotServer } from './server.ts'

const TLS = makeCertificate({ names: ['127.0.0.1'], validDays: 1, now: Date.now() })
const GATEWAY = 'demo/web'
/** Pauses are over at once; nothing else in these tests waits for a clock. */
const HASTY = { ...SYSTEM_TIME, after: (ms: number, call: () => void) => SYSTEM_TIME.after(ms > 5_000 ? ms : 0, call) }

const backend = (port: number) => ({ kind: 'static', host: 'h', port, unixPath: null, policies: {} })
const first = snapshotOf([bindOf([{ routes: ['a', 'b', 'c'].map((name) => routeOf({ name })) }])], {
  x: backend(1),
  y: backend(2)
})
/** The same but for a route more. */
function withRoute(draft: SnapshotDraft, name: string): SnapshotDraft {
  const [bind] = draft.binds
  const [listener] = bind!.listeners
  const routes = [...listener!.routes, routeOf({ name })]
  return { ...draft, binds: [{ ...bind!, listeners: [{ ...listener!, routes }] }] }
}
const routesOf = ({ binds }: SnapshotDraft) => binds[0]!.listeners[0]!.routes
const host = (address: string): ServiceEndpoint => ({ host: address, port: 80, unixPath: null, weight: 1 })

/** Resolves when `done` says so; `look()` has it asked again. */
function watcher() {
  let waiting: { done: () => boolean; resolve: () => void }[] = []
  return {
    look: () => {
      for (const one of waiting) if (one.done()) one.resolve()
      waiting = waiting.filter(({ done }) => !done())
    },
    until: (done: () => boolean) =>
      done() ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ done, resolve }))
  }
}

async function controller(t: TestContext, port = 0, time = SYSTEM_TIME) {
  const { look, until } = watcher()
  const logged: string[] = []
  const server = new SnapshotServer({
    port,
    host: '127.0.0.1',
    tls: TLS,
    time,
    authenticate: async (token, gateway) => {
      if (token === 'nobody knows') throw new Error('the API server is away')
      return token === `of ${gateway}`.replace(' ', '-')
    },
    onChange: look,
    log: (_level, message) => logged.push(message)
  })
  const listening = await server.listen()
  t.after(() => server.close().catch(() => undefined))
  return { server, port: listening, logged, until }
}

/** `apply`: puts a draft in force, or throws. */
function dataPlane(t: TestContext, port: number, more: Partial<SnapshotClientOptions> = {}) {
  const { look, until } = watcher()
  const got: ReceivedDraft[] = []
  const endpoints: EndpointChanges[] = []
  const events: string[] = []
  const logged: string[] = []
  let held: Held | null = null
  const client = new SnapshotClient({
    address: `127.0.0.1:${port}`,
    ca: () => TLS.cert,
    token: () => `of-${GATEWAY}\n`,
    gateway: GATEWAY,
    pod: 'web-1',
    held: null,
    time: HASTY,
    onSnapshot: async (received) => {
      got.push(received)
      events.push(`draft of ${routesOf(received.draft).length}`)
      look()
    },
    onEndpoints: (changes) => {
      endpoints.push(changes)
      events.push(`endpoints ${JSON.stringify(Object.keys(changes))}`)
      look()
    },
    onHeld: (next) => {
      held = next()
    },
    log: (_level, message) => {
      logged.push(message)
      look()
    },
    ...more
  })
  t.after(() => client.close())
  client.start()
  return { client, got, endpoints, events, logged, until, held: () => held }
}

describe('the stream', () => {
  test('brings everything first, and then what changes; unchanged parts are the same objects', async (t) => {
    const { server, port, until } = await controller(t)
    assert.equal(server.publish(GATEWAY, { draft: first, endpoints: { 'shop:80': [host('10.0.0.1')] } }), 1)
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    assert.deepEqual(plane.got[0]!.draft, first)
    assert.deepEqual(plane.events, ['endpoints ["shop:80"]', 'draft of 3', 'endpoints []'])
    const next = withRoute(first, 'd')
    assert.equal(server.publish(GATEWAY, { draft: next, endpoints: { 'shop:80': [host('10.0.0.1')] } }), 2)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 2)
    assert.deepEqual(plane.got[1]!.draft, next)
    assert.equal(routesOf(plane.got[1]!.draft)[1], routesOf(plane.got[0]!.draft)[1])
    assert.equal(plane.got[1]!.draft.backends.x, plane.got[0]!.draft.backends.x)
    assert.deepEqual(server.dataPlanes(GATEWAY), [{ gateway: GATEWAY, pod: 'web-1', inForce: 2, refused: null }])
  })

  test('brings endpoints by themselves; names that go wait for a draft that does not ask for them', async (t) => {
    const { server, port, until } = await controller(t)
    const publish = (draft: SnapshotDraft, endpoints: ServiceEndpoints) => server.publish(GATEWAY, { draft, endpoints })
    const list = [host('10.0.0.1')]
    publish(first, { 'a:80': list, 'b:80': list })
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    plane.events.length = 0
    publish(first, { 'a:80': [host('10.0.0.2')], 'b:80': list })
    await plane.until(() => plane.events.length === 1)
    assert.deepEqual(plane.endpoints.at(-1), { 'a:80': [host('10.0.0.2')] })
    publish(first, { 'a:80': list })
    await plane.until(() => plane.events.length === 2)
    publish(withRoute(first, 'd'), { 'a:80': list, 'c:80': [] })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 2)
    await plane.until(() => plane.events.length === 5)
    assert.deepEqual(plane.events, [
      'endpoints ["a:80"]',
      'endpoints ["a:80"]',
      'endpoints ["c:80"]',
      'draft of 4',
      'endpoints ["b:80"]'
    ])
  })

  test('tells what a data plane refuses, which keeps what it has until something else comes', async (t) => {
    const { server, port, until } = await controller(t)
    server.publish(GATEWAY, { draft: first, endpoints: {} })
    const plane = dataPlane(t, port, {
      onSnapshot: async ({ draft }) => {
        if (routesOf(draft).length === 4) throw new Error(`port 80 is taken ${'x'.repeat(10_000)}`)
      }
    })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    const next = withRoute(first, 'd')
    server.publish(GATEWAY, { draft: next, endpoints: {} })
    await until(() => server.dataPlanes(GATEWAY)[0]?.refused != null)
    const [{ inForce, refused } = { inForce: 0, refused: null }] = server.dataPlanes(GATEWAY)
    assert.deepEqual([inForce, refused?.version, refused?.reason.length], [1, 2, 4_096])
    assert.equal(plane.held()?.version, 1)
    server.publish(GATEWAY, { draft: withRoute(next, 'e'), endpoints: {} })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 3)
    assert.equal(server.dataPlanes(GATEWAY)[0]!.refused, null)
    assert.equal(routesOf(plane.held()!.draft).length, 5)
  })

  test('goes on where it was when a connection ends', async (t) => {
    const { server, port, until } = await controller(t, 0, HASTY_STREAMS)
    server.publish(GATEWAY, { draft: first, endpoints: {} })
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    HASTY_STREAMS.end()
    await until(() => server.dataPlanes(GATEWAY).length === 0)
    server.publish(GATEWAY, { draft: withRoute(first, 'd'), endpoints: { 'a:80': [] } })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 2)
    // What it had already is not made anew, so it came as a change.
    assert.equal(routesOf(plane.got[1]!.draft)[0], routesOf(plane.got[0]!.draft)[0])
    assert.equal(plane.got.length, 2)
    HASTY_STREAMS.end()
    await until(() => server.dataPlanes(GATEWAY).length === 0)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 2)
    assert.equal(plane.got.length, 2)
  })

  test('of a controller that was started anew puts nothing in force that is in force', async (t) => {
    const { server, port, until } = await controller(t)
    server.publish(GATEWAY, { draft: first, endpoints: { 'a:80': [], 'b:80': [] } })
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    await server.close()
    const second = await controller(t, port)
    second.server.publish(GATEWAY, { draft: structuredClone(first), endpoints: { 'a:80': [] } })
    await second.until(() => second.server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    assert.equal(plane.got.length, 1)
    await plane.until(() => plane.endpoints.some((changes) => changes['b:80'] === null))
  })

  test('starts from what a data plane has kept', async (t) => {
    const { server, port, until } = await controller(t)
    const endpoints = { 'a:80': [] }
    server.publish(GATEWAY, { draft: first, endpoints })
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    plane.client.close()
    await until(() => server.dataPlanes(GATEWAY).length === 0)
    const again = dataPlane(t, port, { held: structuredClone(plane.held()) })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    server.publish(GATEWAY, { draft: withRoute(first, 'd'), endpoints })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 2)
    assert.deepEqual(again.events, ['draft of 4', 'endpoints []'])
  })

  test('waits for a Gateway that is not published yet, and ends with one that is removed', async (t) => {
    const { server, port, until } = await controller(t)
    const plane = dataPlane(t, port)
    await until(() => server.dataPlanes(GATEWAY).length === 1)
    server.publish(GATEWAY, { draft: first, endpoints: {} })
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 1)
    plane.client.close()
    server.remove(GATEWAY)
    assert.deepEqual(server.dataPlanes(GATEWAY), [])
  })

  test('of a data plane that is slow puts in force the newest only', async (t) => {
    const { server, port, until } = await controller(t)
    let draft: SnapshotDraft = first
    server.publish(GATEWAY, { draft, endpoints: {} })
    const applied: number[] = []
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const plane = dataPlane(t, port, {
      onSnapshot: async ({ version }) => {
        applied.push(version)
        if (version === 1) await held
      }
    })
    await plane.until(() => plane.endpoints.length > 0)
    for (let i = 0; i < 100; i++) {
      draft = withRoute(draft, `more${i}`)
      server.publish(GATEWAY, { draft, endpoints: { 'a:80': [host(`10.0.0.${i}`)] } })
    }
    await plane.until(() => plane.endpoints.at(-1)?.['a:80']?.[0]?.host === '10.0.0.99')
    release()
    await until(() => server.dataPlanes(GATEWAY)[0]?.inForce === 101)
    assert.deepEqual([applied[0], applied.at(-1)], [1, 101])
    assert.ok(applied.length <= 3)
  })
})

describe('a data plane', () => {
  for (const [what, token, reason] of [
    ['of another Gateway', 'of-demo/other', 'it answers with 403'],
    ['whose token cannot be reviewed', 'nobody knows', 'it answers with 401'],
    ['without a token', '', 'it answers with 401']
  ] as const) {
    test(`${what} gets nothing, and says why`, async (t) => {
      const { server, port } = await controller(t)
      server.publish(GATEWAY, { draft: first, endpoints: {} })
      const plane = dataPlane(t, port, { token: () => token })
      await plane.until(() => plane.logged.some((line) => line.includes(reason)))
      assert.deepEqual([server.dataPlanes(GATEWAY), plane.got], [[], []])
    })
  }

  test('does not trust a controller with another certificate', async (t) => {
    const { server, port } = await controller(t)
    server.publish(GATEWAY, { draft: first, endpoints: {} })
    const other = makeCertificate({ names: ['127.0.0.1'], validDays: 1, now: Date.now() })
    const plane = dataPlane(t, port, { ca: () => other.cert })
    await plane.until(() => plane.logged.length > 0)
    assert.match(plane.logged[0]!, /is not to be had: .*certificate/)
    assert.deepEqual(server.dataPlanes(GATEWAY), [])
  })
})

/** Streams end when the test says so, and not after half an hour. */
const HASTY_STREAMS = {
  ...SYSTEM_TIME,
  ends: [] as (() => void)[],
  after(ms: number, call: () => void) {
    if (ms < 1_000_000) return SYSTEM_TIME.after(ms, call)
    HASTY_STREAMS.ends.push(call)
    return () => {}
  },
  end() {
    for (const end of HASTY_STREAMS.ends.splice(0)) end()
  }
}
