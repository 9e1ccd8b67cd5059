import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { backends } from '#backends/index.ts'
import { share } from '#engine/ir/share.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { startPressure } from '#engine/testing/pressure.ts'
import { freePort } from '#engine/testing/program.ts'
import { policies } from '#policies/index.ts'
import { noAccounts } from './accounts.fixture.ts'
import { Supervisor } from './supervisor.ts'

const RELOADS = 1000

function snapshot(text: string, version: number): Snapshot {
  const loaded = loadConfig(text, { file: 'test', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  return { ...loaded.snapshot, version, hash: String(version), acceptedAt: '' }
}

function config(port: number, body: string, backendPort = 1): string {
  return `
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{ path: { exact: /version } }]
      policies: { directResponse: { status: 200, body: '${body}' } }
    - policies: { headerModifiers: { response: { set: { x-version: '${body}' } } } }
      backends: [{ host: '127.0.0.1:${backendPort}' }]
`
}

interface Running {
  readonly supervisor: Supervisor
  /** Resolves at the next death of a worker. */
  death(): Promise<number>
}

const SOURCES = new URL('../process/main.ts', import.meta.url)
/** The bundle that `npm test` has made of them: a worker starts in a third of the time, and is awaited under load. */
const { WEIR_TEST_PROGRAM } = process.env
const PROGRAM = WEIR_TEST_PROGRAM === undefined ? SOURCES : new URL('./weir-main.mjs', pathToFileURL(WEIR_TEST_PROGRAM))

function supervise(t: TestContext, count: number, entry = PROGRAM): Running {
  let onDeath: (worker: number) => void = () => {}
  const supervisor = new Supervisor({
    accountsFor: noAccounts,
    count,
    entry,
    metricsBytes: REGION_BYTES,
    logging: { level: 'error,request=off', format: 'text' },
    log: () => {},
    onStart: () => {},
    onSeries: () => {},
    onDeath: (worker) => onDeath(worker)
  })
  t.after(() => supervisor.stop())
  return {
    supervisor,
    death: () =>
      new Promise((resolve) => {
        onDeath = resolve
      })
  }
}

async function backend(t: TestContext): Promise<number> {
  const server = createServer((_request, response) => response.end('from the backend'))
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test(`no request is lost or answered wrongly over ${RELOADS} reloads under load`, async (t) => {
  const { supervisor } = supervise(t, 2)
  const port = await freePort()
  const backendPort = await backend(t)
  let last = snapshot(config(port, 'v1', backendPort), 1)
  assert.equal((await supervisor.publish(last)).ok, true)
  const local = startPressure({
    port,
    connections: 4,
    path: '/version',
    isRight: (body) => /^v\d+$/.test(body),
    mayClose: false
  })
  const proxied = startPressure({
    port,
    connections: 4,
    path: '/',
    isRight: (body) => body === 'from the backend',
    mayClose: false
  })
  await Promise.all([local.more(50), proxied.more(50)])
  const before = local.answers() + proxied.answers()
  for (let version = 2; version <= RELOADS + 1; version++) {
    last = share(last, snapshot(config(port, `v${version}`, backendPort), version))
    const outcome = await supervisor.publish(last)
    assert.equal(outcome.ok, true)
  }
  const during = local.answers() + proxied.answers() - before
  assert.deepEqual(await local.stop(), [])
  assert.deepEqual(await proxied.stop(), [])
  assert.ok(during > 0, 'the load ran during the reloads')
})

test('a worker that dies takes only its own exchanges with it, and is replaced', async (t) => {
  const { supervisor, death } = supervise(t, 2)
  const port = await freePort()
  const backendPort = await backend(t)
  const first = snapshot(config(port, 'v1', backendPort), 1)
  await supervisor.publish(first)
  // A successor holds nothing of what the dead worker was sent in parts.
  await supervisor.publish(share(first, snapshot(config(port, 'v2', backendPort), 2)))
  const load = startPressure({
    port,
    connections: 8,
    path: '/',
    isRight: (body) => body === 'from the backend',
    // The dead worker's own connections end, between two answers or without one: never with a wrong one.
    mayClose: true
  })
  await load.more(200)
  for (let round = 0; round < 3; round++) {
    const died = death()
    supervisor.terminate(round % 2)
    await died
    await load.more(200)
    // The next to die is the other one: first this one must serve again.
    while (!supervisor.workers.every(({ isServing }) => isServing)) await load.more(10)
  }
  assert.deepEqual(await load.stop(), [])
  assert.equal(supervisor.restarts, 3)
  assert.deepEqual(
    [0, 1].map((worker) => supervisor.state.deaths(worker)),
    [2, 1]
  )
})

test('hosts that are known without DNS change without a build, and a successor has them all', async (t) => {
  const { supervisor, death } = supervise(t, 2)
  const port = await freePort()
  const host = { host: '127.0.0.1', port: await backend(t), unixPath: null, weight: 1 }
  // No DNS server has it (RFC 6761).
  const name = 'shop.demo.svc.cluster.invalid'
  supervisor.setHosts({ [`${name}:1`]: [], 'other.invalid:1': [host] })
  const text = config(port, 'v1').replace('127.0.0.1:1', `${name}:1`)
  assert.equal((await supervisor.publish(snapshot(text, 1))).ok, true)
  supervisor.setHosts({ [`${name}:1`]: [host] })
  const load = startPressure({
    port,
    connections: 4,
    path: '/',
    isRight: (body) => body === 'from the backend',
    mayClose: true
  })
  await load.more(100)
  for (let i = 0; i < 1000; i++) supervisor.setHosts({ [`${name}:1`]: i % 2 === 0 ? [host, host] : [host] })
  supervisor.setHosts({ [`${name}:1`]: [host], 'other.invalid:1': null })
  await load.more(100)
  for (const worker of [0, 1]) {
    const died = death()
    supervisor.terminate(worker)
    await died
    while (!supervisor.workers.every(({ isServing }) => isServing)) await load.more(10)
  }
  await load.more(100)
  assert.deepEqual(await load.stop(), [])
})

test('a snapshot that one worker cannot serve fails whole, and the one before stays', async (t) => {
  const { supervisor } = supervise(t, 2, SOURCES)
  const [port, taken] = [await freePort(), await backend(t)]
  await supervisor.publish(snapshot(config(port, 'v1'), 1))
  const outcome = await supervisor.publish(snapshot(config(taken, 'v2'), 2))
  assert.equal(outcome.ok, false)
  assert.equal(!outcome.ok && outcome.code, 'EADDRINUSE')
  const load = startPressure({
    port,
    connections: 2,
    path: '/version',
    isRight: (body) => body === 'v1',
    mayClose: false
  })
  await load.more(10)
  assert.deepEqual(await load.stop(), [])
})
