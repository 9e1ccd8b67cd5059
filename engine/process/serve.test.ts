/** `weir controller --serve` as a process, at the double of an API server: from resources to an answer at the port. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SERVICE_NAME } from '#engine/kubernetes/endpoints/objects.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

const object = (kind: keyof typeof KINDS, name: string, rest: object = {}): KubernetesObject => ({
  apiVersion: KINDS[kind].apiVersion,
  kind,
  metadata: { name, ...(KINDS[kind].isNamespaced ? { namespace: 'demo' } : {}) },
  ...rest
})

function slice(...ports: number[]): KubernetesObject {
  const [port = 1] = ports
  const { metadata, ...rest } = object('EndpointSlice', 'shop-1', {
    addressType: 'IPv4',
    ports: [{ name: '', port, protocol: 'TCP' }],
    endpoints: ports.length === 0 ? [] : [{ addresses: ['127.0.0.1'] }]
  })
  return {
    ...rest,
    apiVersion: rest.apiVersion as string,
    kind: rest.kind as string,
    metadata: { ...metadata, labels: { [SERVICE_NAME]: 'shop' } }
  }
}

const kubeconfig = (server: string) => ({
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
  clusters: [{ name: 'test', cluster: { server } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  users: [{ name: 'test', user: {} }]
})

test('resources are served by the process that watches them, which drains when it ends', async (t) => {
  const origin = await startOrigin((response) => response.end('from the Service'))
  const [port, streamPort] = [await freePort(), await freePort()]
  const server = new ApiServerDouble()
  const route = { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }] }
  for (const one of [
    object('GatewayClass', 'weir', { spec: { controllerName: 'weir.dev/gateway-controller' } }),
    object('Gateway', 'edge', {
      spec: { gatewayClassName: 'weir', listeners: [{ name: 'web', port, protocol: 'HTTP' }] }
    }),
    object('HTTPRoute', 'shop', { spec: route }),
    object('Service', 'shop', { spec: { ports: [{ port: 80, targetPort: 8080 }] } }),
    slice(origin.port)
  ]) {
    server.add(one)
  }
  await server.start()
  const folder = mkdtempSync(join(tmpdir(), 'weir-serve-test-'))
  const file = join(folder, 'kubeconfig')
  writeFileSync(file, JSON.stringify(kubeconfig(server.url)))
  const program = runProgram(
    [
      ...['controller', '--kubeconfig', file, '--serve', 'demo/edge', '--leader-elect', 'false'],
      ...['--listen', `127.0.0.1:${streamPort}`, '--address', '127.0.0.1']
    ],
    '',
    { WORKER_THREADS: '1', ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off', LOCAL_ADDRESSES: '127.0.0.1' }
  )
  t.after(async () => {
    await program.stop()
    await server.stop()
    origin.close()
    rmSync(folder, { recursive: true })
  })
  await program.logged(`ports ${port}`)
  const get = async () => {
    const response = await fetch(`http://localhost:${port}/`, { headers: { connection: 'close' } })
    return `${response.status} ${await response.text()}`
  }
  assert.equal(await get(), '200 from the Service')
  // Nothing is built for this: addresses come by themselves.
  const [served, refused] = ['200 from the Service', '503 the backend has no endpoint at the moment\n']
  const until = async (wanted: string) => {
    for (let answer = await get(); answer !== wanted; answer = await get()) {
      assert.ok(answer === served || answer === refused, answer)
    }
  }
  server.add(slice())
  await until(refused)
  server.add(slice(origin.port))
  await until(served)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  await assert.rejects(get)
})
