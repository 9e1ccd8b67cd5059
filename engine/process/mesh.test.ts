/** `weir proxy` as a workload of a mesh: a controller and the authority of the mesh are in this process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { ServiceEndpoint } from '#engine/kubernetes/endpoints/index.ts'
import { makeCertificate, SnapshotServer } from '#engine/kubernetes/stream/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { authority } from '#engine/testing/certificates.ts'
import { startMeshAuthority } from '#engine/testing/mesh-authority.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { startWorkload } from '#engine/testing/workload.ts'
import { policies } from '#policies/index.ts'
import { type MeshVariable, readMeshSettings } from './mesh-options.ts'

const GATEWAY = 'demo/web'
const CART = 'ns/shop/sa/cart'
const TOKEN = 'the-token-of-the-account'
const TLS = makeCertificate({ names: ['127.0.0.1'], validDays: 1, now: Date.now() })
const root = authority('root.test')

/** No DNS server has these names (RFC 6761). */
function draftOf(port: number): SnapshotDraft {
  const text = `
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{ path: { exact: /cart } }]
      backends: [{ host: 'cart.invalid:80' }]
    - backends: [{ host: 'plain.invalid:80' }]
`
  const loaded = loadConfig(text, { file: 'test', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  return loaded.snapshot
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-mesh-'))
  t.after(() => rmSync(path, { recursive: true }))
  for (const [name, text] of Object.entries({ 'ca.crt': TLS.cert, token: 'good', 'istio-token': `${TOKEN}\n` })) {
    writeFileSync(join(path, name), text)
  }
  return path
}

const at = (port: number, identity?: string): ServiceEndpoint => {
  const plain = { host: '127.0.0.1', port, unixPath: null, weight: 1 }
  return identity === undefined ? plain : { ...plain, identity }
}

const textAt = async (port: number, path: string) => {
  const response = await fetch(`http://localhost:${port}${path}`, { headers: { connection: 'close' } })
  return `${response.status} ${await response.text()}`
}

async function rig(t: TestContext, env: Record<string, string>) {
  const files = folder(t)
  const server = new SnapshotServer({
    ...{ port: 0, host: '127.0.0.1', tls: TLS, onChange: () => {}, log: () => {} },
    authenticate: async () => true
  })
  const controllerPort = await server.listen()
  t.after(() => server.close().catch(() => undefined))
  const port = await freePort()
  const program = runProgram(
    ['proxy', '-c', "config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 }"],
    '',
    {
      ...{ GATEWAY: 'web', NAMESPACE: 'demo', POD_NAME: 'web-1', LOCAL_ADDRESSES: '127.0.0.0/8' },
      ...{ CONTROLLER_ADDRESS: `127.0.0.1:${controllerPort}` },
      ...{ CONTROLLER_CA: join(files, 'ca.crt'), CONTROLLER_TOKEN: join(files, 'token'), SERVICE_ACCOUNT: 'web-weir' },
      ...{ CA_ROOT_CA: join(files, 'root-cert.pem'), CA_AUTH_TOKEN: join(files, 'istio-token') },
      ...env
    }
  )
  t.after(() => program.stop())
  const publish = (cart: readonly ServiceEndpoint[], plain: readonly ServiceEndpoint[]) =>
    server.publish(GATEWAY, { draft: draftOf(port), endpoints: { 'cart.invalid:80': cart, 'plain.invalid:80': plain } })
  return { files, port, program, publish }
}

test('workloads are out of reach until there is a certificate, and everything else is served', async (t) => {
  const authorityPort = await freePort()
  const pod = await startWorkload(root.issue('/O=mesh', [`URI:spiffe://cluster.local/${CART}`]), root.cert, 'cart')
  const origin = await startOrigin((response) => response.end('plain'))
  t.after(() => {
    pod.close()
    origin.close()
  })
  const { files, port, program, publish } = await rig(t, { CA_ADDRESS: `https://127.0.0.1:${authorityPort}` })
  publish([at(pod.port, CART)], [at(origin.port)])
  await program.logged('istio-ca-root-cert')
  await program.logged('ports')
  assert.equal(await textAt(port, '/'), '200 plain')
  assert.match(await textAt(port, '/cart'), /^503 the backend is part of a mesh/)
  await program.logged('no TLS with cart.invalid:80: there is no certificate of the mesh')

  writeFileSync(join(files, 'root-cert.pem'), root.cert)
  await program.logged('refused the connection')
  const ca = await startMeshAuthority(root, TOKEN, { port: authorityPort })
  t.after(() => ca.close())
  await program.logged('this process is spiffe://cluster.local/ns/demo/sa/web-weir in the mesh')
  const answers = await Promise.all(Array.from({ length: 8 }, () => textAt(port, '/cart')))
  assert.deepEqual([...new Set(answers)], ['200 cart'])
  assert.ok(pod.peers.every(({ names }) => names === 'URI:spiffe://cluster.local/ns/demo/sa/web-weir'))
  assert.equal(new Set(pod.peers.map(({ serial }) => serial)).size, 1, 'all workers have the same')
  assert.equal(ca.signed.length, 1)
  assert.equal(program.output.includes(TOKEN), false)
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
})

test('without a mesh the workloads of one are servers like any other', async (t) => {
  const origin = await startOrigin((response) => response.end('cart'))
  t.after(() => origin.close())
  const { port, program, publish } = await rig(t, {})
  publish([at(origin.port, CART)], [])
  await program.logged('ports')
  assert.equal(await textAt(port, '/cart'), '200 cart')
})

test('what a workload of a mesh needs is read from variables, and what is wrong is named', () => {
  const read = (values: Partial<Record<MeshVariable, string>>, namespace = 'demo') =>
    readMeshSettings((name) => values[name] ?? '', namespace)
  assert.equal(read({ 'trust-domain': 'a.test' }), null)
  const all = { 'ca-address': 'istiod:15012', 'service-account': 'edge' }
  const settings = read(all)
  assert.ok(settings !== null && typeof settings !== 'string')
  const { trustDomain, identity, clusterId } = settings
  assert.deepEqual([trustDomain, identity, clusterId], ['cluster.local', 'ns/demo/sa/edge', ''])
  assert.throws(settings.roots, /root-cert\.pem cannot be read \(ENOENT\): it comes from the ConfigMap/)
  assert.throws(settings.token, /istio-token cannot be read \(ENOENT\): it is a token .* istio-ca/)
  assert.match(String(read({ ...all, 'ca-address': 'http://istiod:15012' })), /HOST:PORT or https:\/\/HOST:PORT, not/)
  assert.match(String(read({ ...all, 'trust-domain': 'A b' })), /^--trust-domain must have lower-case/)
  assert.match(String(read({ ...all, 'cluster-id': 'a\r\nb' })), /^--cluster-id must have 253 letters/)
  assert.match(String(read({ 'ca-address': 'istiod:15012' })), /needs --service-account/)
  assert.match(String(read(all, '')), /and a namespace$/)
})
