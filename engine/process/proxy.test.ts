/** `weir proxy` as a process, with a controller in this one. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import { type DataPlane, makeCertificate, SnapshotServer } from '#engine/kubernetes/stream/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { policies } from '#policies/index.ts'
import { readProxySettings } from './proxy-options.ts'

const GATEWAY = 'demo/web'
/** No DNS server has it (RFC 6761). */
const SERVICE = 'shop.demo.svc.cluster.invalid'
const TLS = makeCertificate({ names: ['127.0.0.1'], validDays: 1, now: Date.now() })
const CANARY = createHash('sha256').update('a key').digest('hex')
const KEY = 'k'.repeat(32)

function draftOf(port: number, word: string): SnapshotDraft {
  const text = `
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{ path: { exact: /word } }]
      policies: { directResponse: { status: 200, body: '${word}' } }
    - policies: { backendAuth: { key: '${CANARY}' } }
      backends: [{ host: '${SERVICE}:80' }]
`
  const loaded = loadConfig(text, { file: 'test', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  return loaded.snapshot
}

async function controller(t: TestContext) {
  let waiting: { done: (plane: DataPlane | undefined) => boolean; resolve: () => void }[] = []
  const plane = () => server.dataPlanes(GATEWAY)[0]
  const look = () => {
    for (const one of waiting) if (one.done(plane())) one.resolve()
    waiting = waiting.filter(({ done }) => !done(plane()))
  }
  const server = new SnapshotServer({
    port: 0,
    host: '127.0.0.1',
    tls: TLS,
    authenticate: async (token) => token === 'good',
    onChange: look,
    log: () => {}
  })
  const port = await server.listen()
  t.after(() => server.close().catch(() => undefined))
  return {
    server,
    port,
    plane,
    until: (done: (plane: DataPlane | undefined) => boolean) =>
      done(plane()) ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ done, resolve }))
  }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-proxy-'))
  t.after(() => rmSync(path, { recursive: true }))
  writeFileSync(join(path, 'ca.crt'), TLS.cert)
  writeFileSync(join(path, 'token'), 'good\n')
  return path
}

interface Started {
  readonly files: string
  readonly controllerPort: number
  readonly key?: string
  /** LOCAL_ADDRESSES: origins of tests are on this machine. */
  readonly local?: string
}

async function dataPlane(t: TestContext, { files, controllerPort, key = KEY, local = '127.0.0.0/8' }: Started) {
  const readinessPort = await freePort()
  const program = runProgram(
    [
      ...['proxy', '--gateway', 'web', '--namespace', 'demo', '--controller-address', `127.0.0.1:${controllerPort}`],
      ...[
        '-c',
        `config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'localhost:${readinessPort}', workerThreads: 1 }`
      ]
    ],
    '',
    {
      ...{ CONTROLLER_CA: join(files, 'ca.crt'), CONTROLLER_TOKEN: join(files, 'token'), POD_NAME: 'web-1' },
      ...{ STATE_DIR: files, STATE_KEY: key, LOG_LEVEL: 'debug,request=off', LOCAL_ADDRESSES: local }
    }
  )
  t.after(() => program.stop())
  const readiness = readinessPort
  const ready = async () => (await fetch(`http://localhost:${readinessPort}/healthz/ready`)).status
  return { program, ready, readiness }
}

const textAt = async (port: number, path: string) => {
  const response = await fetch(`http://localhost:${port}${path}`, { headers: { connection: 'close' } })
  return `${response.status} ${await response.text()}`
}

test('a data plane serves what its controller says, and what it has when there is none', async (t) => {
  const origin = await startOrigin((response) => response.end('from the Service'))
  t.after(() => origin.close())
  const { server, port: controllerPort, plane, until } = await controller(t)
  const files = folder(t)
  const port = await freePort()
  const first = await dataPlane(t, { files, controllerPort })

  await until((one) => one !== undefined)
  await first.program.logged('connected to the controller')
  assert.equal(await first.ready(), 503)
  const endpoints = (...ports: number[]): ServiceEndpoints => ({
    [`${SERVICE}:80`]: ports.map((at) => ({ host: '127.0.0.1', port: at, unixPath: null, weight: 1 }))
  })
  server.publish(GATEWAY, { draft: draftOf(port, 'one'), endpoints: endpoints(origin.port) })
  await until((one) => one?.inForce === 1)
  await first.program.logged('ports')
  assert.equal(await first.ready(), 200)
  assert.equal(await textAt(port, '/word'), '200 one')
  assert.equal(await textAt(port, '/'), '200 from the Service')

  // A port that is taken: the data plane says so, and what runs stays.
  server.publish(GATEWAY, { draft: draftOf(controllerPort, 'two'), endpoints: endpoints(origin.port) })
  await until((one) => one?.refused?.version === 2)
  assert.match(plane()!.refused!.reason, /EADDRINUSE|in use/)
  assert.equal(await textAt(port, '/word'), '200 one')

  first.program.signal('SIGTERM')
  assert.equal(await first.program.exited(), 0)
  await server.close()
  const kept = readFileSync(join(files, 'held.weir'))
  for (const word of [CANARY, SERVICE]) assert.equal(kept.includes(word), false)

  const second = await dataPlane(t, { files, controllerPort })
  await second.program.logged('in force again')
  await second.program.logged('ports')
  assert.equal(await second.ready(), 200)
  assert.equal(await textAt(port, '/word'), '200 one')
  assert.equal(await textAt(port, '/'), '200 from the Service')
  assert.doesNotMatch(first.program.output + second.program.output, new RegExp(CANARY))
  second.program.signal('SIGTERM')
  assert.equal(await second.program.exited(), 0)

  const other = await dataPlane(t, { files, controllerPort, key: 'x'.repeat(32) })
  await other.program.logged('what was kept is not used')
  other.program.signal('SIGTERM')
  assert.equal(await other.program.exited(), 0)
})

/** What a resource may name, none of which a data plane connects to. */
const LOCAL = [
  ...['127.0.0.1', '127.0.0.2', 'localhost', '[::1]', '0.0.0.0', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
  ...['127.1', '2130706433', '169.254.169.254', '[::ffff:169.254.169.254]', '[fe80::1]', '[fd00:ec2::254]']
]

test('no backend of a data plane is this machine, or a metadata service, however it is written', async (t) => {
  let connections = 0
  const local = createServer((socket) => {
    connections++
    socket.destroy()
  })
  local.listen(0)
  await once(local, 'listening')
  t.after(() => local.close())
  const { port: localPort } = local.address() as AddressInfo
  const { server, port: controllerPort, until } = await controller(t)
  const port = await freePort()
  const { program, readiness } = await dataPlane(t, { files: folder(t), controllerPort, local: '' })
  await until((one) => one !== undefined)
  const ports = [localPort, readiness]
  const hosts = [...LOCAL, 'listed.demo.svc.cluster.invalid'].flatMap((host) => ports.map((at) => `${host}:${at}`))
  const routes = hosts.map(
    (host, i) => `    - matches: [{ path: { exact: /${i} } }]\n      backends: [{ host: '${host}' }]\n`
  )
  const checked = `    - matches: [{ path: { exact: /checked } }]
      backends: [{ host: '127.0.0.1:${localPort}', policies: { health: { active: { tcp: {}, interval: 100ms } } } }]\n`
  const text = `binds:\n- port: ${port}\n  listeners:\n  - routes:\n${routes.join('')}${checked}`
  const loaded = loadConfig(text, { file: 'test', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  const listed = ports.map((at) => [
    `listed.demo.svc.cluster.invalid:${at}`,
    [{ host: 'localhost', port: at, unixPath: null, weight: 1 }]
  ])
  server.publish(GATEWAY, { draft: loaded.snapshot, endpoints: Object.fromEntries(listed) })
  await until((one) => one?.inForce === 1)
  for (const [i, host] of hosts.entries()) assert.match(await textAt(port, `/${i}`), /^403 /, host)
  assert.match(await textAt(port, '/checked'), /^(?:403|503) /)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  assert.equal(connections, 0)
})

test('the settings of a data plane are flags or variables, and what is missing is named', () => {
  const all = { CONTROLLER_ADDRESS: 'weir:9443', CONTROLLER_CA: 'ca', CONTROLLER_TOKEN: 'token', GATEWAY: 'web' }
  const env = { ...all, NAMESPACE: 'demo', POD_NAME: 'web-1', ZONE: 'a', STATE_DIR: '/state', STATE_KEY: KEY }
  const read = readProxySettings({ gateway: 'other' }, env)
  assert.ok(typeof read !== 'string')
  assert.deepEqual(
    [read.gateway, read.pod, read.zone, read.state, read.warnings],
    ['demo/other', 'web-1', 'a', { folder: '/state', key: KEY }, []]
  )
  const unsealed = readProxySettings({}, { ...env, STATE_KEY: '' })
  assert.ok(typeof unsealed !== 'string')
  assert.deepEqual([unsealed.state, unsealed.warnings.length], [null, 1])
  const cases: [Record<string, string>, RegExp][] = [
    [all, /^proxy needs --namespace \(NAMESPACE\)$/],
    [{ ...env, CONTROLLER_ADDRESS: 'http://weir:9443' }, /--controller-address is host:port/],
    [{ ...env, STATE_KEY: 'short' }, /STATE_KEY needs 32 characters/]
  ]
  for (const [wrong, message] of cases) assert.match(String(readProxySettings({}, wrong)), message)
})
