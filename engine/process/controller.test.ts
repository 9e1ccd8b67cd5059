import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { LEASE } from '#engine/kubernetes/client/leader-election.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { readArguments } from './cli.ts'

const GATEWAY_V1 = 'gateway.networking.k8s.io/v1'

function kubeconfig(t: TestContext, server: string, user: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-kubeconfig-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'config')
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
      clusters: [{ name: 'here', cluster: { server } }],
      users: [{ name: 'me', user }]
    })
  )
  return path
}

test('weir controller is ready when everything is known, leads, and gives the leadership back', async (t) => {
  const server = new ApiServerDouble()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'weir-system' } })
  server.tokens.set('secret-token', { username: 'weir' })
  server.refuse = () => ({ status: 503 })
  await server.start()
  t.after(() => server.stop())
  const [stats, readiness, listen] = [await freePort(), await freePort(), await freePort()]
  const config = kubeconfig(t, server.url, { token: 'secret-token' })
  const env = {
    POD_NAMESPACE: 'weir-system',
    STATS_ADDR: `127.0.0.1:${stats}`,
    READINESS_ADDR: `127.0.0.1:${readiness}`
  }
  const args = ['controller', `--kubeconfig=${config}`, `--listen=127.0.0.1:${listen}`]
  const program = runProgram(args, '', env)
  t.after(() => program.stop())
  await program.logged('controller: reads')
  const ready = () => fetch(`http://127.0.0.1:${readiness}/healthz/ready`)
  const early = await ready()
  assert.deepEqual([early.status, await early.text()], [503, 'not ready, pending: resources'])
  server.refuse = () => null
  await program.logged('data planes are served on port')
  assert.equal((await ready()).status, 200)
  const metrics = await (await fetch(`http://127.0.0.1:${stats}/metrics`)).text()
  assert.match(metrics, /^weir_controller_leader 1$/m)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  const { holderIdentity } = server.store.list(LEASE, 'weir-system')[0]!.spec as { holderIdentity: string }
  assert.equal(holderIdentity, '')
  assert.ok(!program.output.includes('secret-token'))
})

test('weir controller without servers of its own outlives its API server', async (t) => {
  const server = new ApiServerDouble()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'weir-system' } })
  const { apiVersion, kind } = LEASE
  const spec = { holderIdentity: 'another', leaseDurationSeconds: 3_600 }
  server.add({ apiVersion, kind, metadata: { name: 'weir-controller', namespace: 'weir-system' }, spec })
  await server.start()
  t.after(() => server.stop())
  const config = kubeconfig(t, server.url, { token: 'any' })
  const env = { POD_NAMESPACE: 'weir-system', STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  const program = runProgram(['controller', `--kubeconfig=${config}`], '', env)
  t.after(() => program.stop())
  await program.logged('everything is known')
  await server.stop()
  await program.logged('the API server cannot be reached')
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
})

const inDemo = (apiVersion: string, kind: string, name: string, rest: object, labels = {}): KubernetesObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'demo', labels },
  ...rest
})

/** Where the Service is: an origin of the test. */
const slice = (port: number) =>
  inDemo(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    'shop-1',
    { addressType: 'IPv4', ports: [{ port }], endpoints: [{ addresses: ['127.0.0.1'] }] },
    { 'kubernetes.io/service-name': 'shop' }
  )

async function origin(t: TestContext, body: string): Promise<number> {
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

test('weir controller --serve is the data plane too, and goes on without its API server', async (t) => {
  const server = new ApiServerDouble()
  const port = await freePort()
  const [one, two] = [await origin(t, 'one'), await origin(t, 'two')]
  const gateway = { gatewayClassName: 'weir', listeners: [{ name: 'web', port, protocol: 'HTTP' }] }
  const rules = [{ backendRefs: [{ name: 'shop', port: 80 }] }]
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'weir-system' } })
  server.add({
    apiVersion: GATEWAY_V1,
    kind: 'GatewayClass',
    metadata: { name: 'weir' },
    spec: { controllerName: 'weir.dev/gateway-controller' }
  })
  server.add(inDemo(GATEWAY_V1, 'Gateway', 'edge', { spec: gateway }))
  server.add(inDemo(GATEWAY_V1, 'HTTPRoute', 'shop', { spec: { parentRefs: [{ name: 'edge' }], rules } }))
  server.add(inDemo('v1', 'Service', 'shop', { spec: { ports: [{ port: 80 }] } }))
  server.add(slice(one))
  await server.start()
  t.after(() => server.stop())
  const config = kubeconfig(t, server.url, { token: 'any' })
  const env = { POD_NAMESPACE: 'weir-system', STATS_ADDR: 'off', READINESS_ADDR: 'off', ADMIN_ADDR: 'off' }
  const local = { LOCAL_ADDRESSES: '127.0.0.1' }
  const args = ['controller', `--kubeconfig=${config}`, '--serve=demo/edge', '--address=192.0.2.1']
  const program = runProgram(args, '', { ...env, ...local, WORKER_THREADS: '1', CONNECTION_TERMINATION_DEADLINE: '1s' })
  t.after(() => program.stop())
  const programmed = () => {
    const { status } = server.store.list(KINDS.Gateway, 'demo')[0]!
    const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] }
    return conditions.some(({ type, status: is }) => type === 'Programmed' && is === 'True')
  }
  await server.until(programmed)
  const ask = async () => await (await fetch(`http://127.0.0.1:${port}/`)).text()
  assert.equal(await ask(), 'one')
  server.add(slice(two))
  while ((await ask()) !== 'two') await immediate()
  await server.stop()
  await program.logged('the API server cannot be reached')
  assert.equal(await ask(), 'two')
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
})

test('a kubeconfig that cannot be used ends it with the reason', async (t) => {
  const config = kubeconfig(t, 'https://127.0.0.1:1', { 'auth-provider': { name: 'gcp' } })
  const program = runProgram(['controller', `--kubeconfig=${config}`])
  assert.equal(await program.exited(), 1)
  assert.match(program.output, /^weir: kubeconfig: users: me: auth-provider: is not run; use exec, a token/m)
})

test('what is typed behind weir controller', () => {
  const read = (...args: string[]) => readArguments(['controller', ...args])
  const typed = read(
    '--listen=[::1]:1',
    '--namespace=demo',
    '--leader-elect=false',
    '--serve=a/b',
    '--address=192.0.2.1'
  )
  assert.ok(typed.kind === 'serve')
  assert.deepEqual(typed.settings, {
    kubeconfig: undefined,
    context: undefined,
    namespace: 'demo',
    controllerName: undefined,
    electsLeader: false,
    listen: { host: '::1', port: 1 },
    controllerAddress: undefined,
    image: undefined,
    clusterDomain: undefined,
    serve: 'a/b',
    addresses: ['192.0.2.1']
  })
  const wrong: readonly (readonly [arg: string, message: string])[] = [
    ['--listen=here', '--listen is written HOST:PORT'],
    ['--listen=:99999', '--listen is written HOST:PORT'],
    ['--serve=edge', '--serve is written NAMESPACE/NAME'],
    ['--address=192.0.2.1', '--address is of the Gateway that --serve names'],
    ['--leader-elect=maybe', '--leader-elect is true or false'],
    ['--image=', '--image must not be empty'],
    ['--imag=x', "unknown option '--imag'; did you mean --image?"]
  ]
  for (const [arg, message] of wrong) {
    assert.deepEqual(read(arg), { kind: 'usage', message, help: 'weir controller --help' })
  }
  assert.deepEqual(read('-h'), { kind: 'help', of: 'controller' })
})
