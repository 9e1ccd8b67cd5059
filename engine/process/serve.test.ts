/** `weir controller --serve` as a process, at the double of an API server: from resources to an answer at the port. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SERVICE_NAME } from '#engine/kubernetes/endpoints/objects.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { authority } from '#engine/testing/certificates.ts'
import { startMeshAuthority } from '#engine/testing/mesh-authority.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { startWorkload } from '#engine/testing/workload.ts'

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

/** The Gateway demo/edge leads to the Service, whose endpoints are among `more`. */
async function rig(
  t: TestContext,
  more: readonly KubernetesObject[],
  env: (folder: string) => NodeJS.ProcessEnv = () => ({})
) {
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
    ...more
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
    {
      ...{ WORKER_THREADS: '1', ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' },
      LOCAL_ADDRESSES: '127.0.0.1',
      ...env(folder)
    }
  )
  t.after(async () => {
    await program.stop()
    await server.stop()
    rmSync(folder, { recursive: true })
  })
  const get = async () => {
    const response = await fetch(`http://localhost:${port}/`, { headers: { connection: 'close' } })
    return `${response.status} ${await response.text()}`
  }
  /** Until it is `wanted`, each answer begins like one of `before`. */
  const until = async (wanted: string, ...before: readonly string[]) => {
    for (let answer = await get(); answer !== wanted; answer = await get()) {
      assert.ok(
        before.some((one) => answer.startsWith(one)),
        answer
      )
    }
  }
  return { port, server, program, get, until }
}

const SERVED = '200 from the Service'

test('resources are served by the process that watches them, which drains when it ends', async (t) => {
  const origin = await startOrigin((response) => response.end('from the Service'))
  t.after(() => origin.close())
  const { port, server, program, get, until } = await rig(t, [slice(origin.port)])
  await program.logged(`ports ${port}`)
  assert.equal(await get(), SERVED)
  // Nothing is built for this: addresses come by themselves.
  const refused = '503 the backend has no endpoint at the moment\n'
  server.add(slice())
  await until(refused, SERVED)
  server.add(slice(origin.port))
  await until(SERVED, refused)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  await assert.rejects(get)
})

const TOKEN = 'the-token-of-the-account'

/** Of a pod at the address of all endpoints here. */
const pod = (labels: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'shop-1', namespace: 'demo', labels } as KubernetesObject['metadata'],
  spec: { serviceAccountName: 'shop' },
  status: { phase: 'Running', podIPs: [{ ip: '127.0.0.1' }] }
})

test('the process is a workload of the mesh that its variables name, and pods of it are spoken to as such', async (t) => {
  const root = authority('root.test')
  const ca = await startMeshAuthority(root, TOKEN)
  const own = root.issue('/O=mesh', ['URI:spiffe://cluster.local/ns/demo/sa/shop'])
  const workload = await startWorkload(own, root.cert, 'from the mesh')
  const plain = await startOrigin((response) => response.end('from the Service'))
  t.after(() => {
    ca.close()
    workload.close()
    plain.close()
  })
  const objects = [slice(workload.port), pod({ 'security.istio.io/tlsMode': 'istio' })]
  const { port, server, program, get, until } = await rig(t, objects, (folder) => {
    const [roots, token] = [join(folder, 'root-cert.pem'), join(folder, 'istio-token')]
    writeFileSync(roots, root.cert)
    writeFileSync(token, TOKEN)
    return {
      ...{ CA_ADDRESS: `https://127.0.0.1:${ca.port}`, CA_ROOT_CA: roots, CA_AUTH_TOKEN: token },
      ...{ SERVICE_ACCOUNT: 'edge', POD_NAMESPACE: 'demo' }
    }
  })
  await program.logged(`ports ${port}`)
  await program.logged('this process is spiffe://cluster.local/ns/demo/sa/edge in the mesh')
  // From the first request on: nothing is served before it is known which pods are of the mesh.
  assert.equal(await get(), '200 from the mesh')
  assert.deepEqual(
    [...new Set(workload.peers.map(({ names }) => names))],
    ['URI:spiffe://cluster.local/ns/demo/sa/edge']
  )
  assert.equal(ca.signed.length, 1)

  // Without its sidecar the same address takes clear text.
  server.add(pod({}))
  server.add(slice(plain.port))
  await until(SERVED, '200 from the mesh', '502 ')
  assert.equal(program.output.includes(TOKEN), false)
})
