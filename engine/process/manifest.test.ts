/** `weir -f` with manifests of Kubernetes: what is served, and what the terminal says. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { ConvertedTexts } from '#engine/standalone/converted.ts'
import { RemoteTexts } from '#engine/standalone/remote.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { policies } from '#policies/index.ts'
import type { ControlPlaneOptions, Loaded } from './control.ts'
import { loadManifest } from './manifest.ts'

let folder: string
let shop: Origin

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-manifest-'))
  shop = await startOrigin((response) => response.end('from the shop'))
})

after(async () => {
  shop.close()
  await rm(folder, { recursive: true, force: true })
})

const gateway = (port: number, name = 'edge') => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: ${name} }
spec:
  gatewayClassName: weir
  listeners: [{ name: http, port: ${port}, protocol: HTTP }]
`

const route = (more = '', parent = 'edge') => `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: ${parent} }]
  rules:
  - backendRefs: [{ name: shop, port: 80 }]
${more}
`

const service = (port: number) => `---
apiVersion: v1
kind: Service
metadata: { name: shop }
spec: { ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: shop-1, labels: { kubernetes.io/service-name: shop } }
addressType: IPv4
endpoints: [{ addresses: [127.0.0.1] }]
ports: [{ port: ${port} }]
`

const off = { WORKER_THREADS: '1', ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }

async function answer(port: number, path = '/'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  return `${response.status} ${await response.text()}`
}

const OPTIONS: ControlPlaneOptions = {
  policies,
  backends,
  name: 'm.yaml',
  env: {},
  folder: '.',
  prepare: (draft, warn) => prepareBackends(draft, backends, warn),
  check: () => [],
  remote: new RemoteTexts(),
  converted: new ConvertedTexts(async () => ''),
  log() {}
}

/** What the terminal would say. */
function loaded(text: string): Loaded & { readonly says: string } {
  const found = loadManifest([{ name: OPTIONS.name, text }], OPTIONS, null)!
  return { ...found, says: found.ok ? found.warnings.join('\n') : found.text }
}

test('--validate-only takes a manifest, and says what is assumed and ignored', async () => {
  const deployment = '---\napiVersion: apps/v1\nkind: Deployment\nmetadata: { name: shop }\n'
  const program = runProgram(
    ['-f', '-', '--validate-only'],
    gateway(8080).replace(': weir', ': wier') + route() + service(1) + deployment
  )
  assert.equal(await program.exited(), 0)
  assert.match(program.output, /configuration is valid: 1 bind, 1 route, 1 backend\n/)
  assert.match(
    program.output,
    /stdin:6:3: Gateway default\/edge: spec\.gatewayClassName: there is no GatewayClass wier/
  )
  assert.match(program.output, /stdin: resources that are not for a gateway are ignored: Deployment \(apps\/v1\)/)
})

test('mistakes have file, line, column, object and field; the exit code is that of a configuration', async () => {
  const text = gateway(8080) + route('    timeouts: { request: 1x }').replace('parentRefs', 'parentRef')
  const program = runProgram(['-f', '-', '--validate-only'], text)
  assert.equal(await program.exited(), 3)
  assert.match(
    program.output,
    /stdin:13:3: HTTPRoute shop: spec\.parentRef: is not a known key\n +did you mean "parentRefs"/
  )
  assert.match(program.output, /stdin:16:26: HTTPRoute shop: spec\.rules\[0\]\.timeouts\.request: must match/)
  assert.match(program.output, /2 mistakes in stdin; nothing was started/)
})

test('syntax is judged document by document', () => {
  assert.match(loaded(`${gateway(8080)}---\nkind: [\n`).says, /^m\.yaml:9:7: the \[ that stands here is not closed/)
})

test('what refers to nothing is a warning, and what is not accepted is a mistake', () => {
  const missing = loaded(gateway(8080) + route())
  assert.equal(missing.ok, true)
  assert.match(missing.says, /m\.yaml:\d+:\d+: HTTPRoute default\/shop.*ResolvedRefs is False \(BackendNotFound\)/)
  const strange = loaded(gateway(8080) + route('', 'edge, sectionName: https') + service(1))
  assert.equal(strange.ok, false)
  assert.match(strange.says, /m\.yaml:\d+:\d+: HTTPRoute default\/shop: .*Accepted is False \(NoMatchingParent\)/)
})

test('a manifest without a Gateway is valid, and serves nothing', () => {
  const none = loaded(service(1).slice(4))
  assert.equal(none.ok, true)
  assert.match(none.says, /there is no Gateway of weir among the resources, so nothing is served/)
})

test('a backend that no route uses is judged too', () => {
  const backend = (model: string) => `---
apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: models }
spec: { ai: { provider: { openai: { model: ${model} } } }, policies: { auth: { secretRef: { name: missing } } } }
`
  const unused = loaded(gateway(8080) + backend('a'))
  assert.equal(unused.ok, true)
  assert.match(
    unused.says,
    /m\.yaml:\d+:\d+: GatewayBackend default\/models: spec\.policies\.auth\.secretRef: .*no Secret default\/missing/
  )
})

test('places of the Snapshot are those of the file', () => {
  const found = loaded(gateway(8080) + route() + service(1))
  assert.ok(found.ok)
  assert.match(found.places().find('binds[0].listeners[0].routes[0]')!, /^m\.yaml:15:5$/)
  assert.match(found.places().find('binds[0].listeners[0]')!, /^m\.yaml:7:15$/)
})

test('a manifest is served from the addresses of its EndpointSlices, and read again when it changes', async (t) => {
  const port = await freePort()
  const file = join(folder, 'served.yaml')
  await writeFile(file, gateway(port) + route() + service(shop.port))
  const program = runProgram(['-f', file], '', off)
  t.after(() => program.stop())
  await program.logged('target=start')
  assert.equal(await answer(port), '200 from the shop')
  const redirect =
    '    filters: [{ type: RequestRedirect, requestRedirect: { statusCode: 302, hostname: other.example } }]'
  await writeFile(file, gateway(port) + route(redirect).replace(/ *- backendRefs.*\n/, '  -\n') + service(shop.port))
  await program.logged('in force')
  const moved = await fetch(`http://127.0.0.1:${port}/a`, { redirect: 'manual' })
  assert.deepEqual([moved.status, moved.headers.get('location')], [302, `http://other.example:${port}/a`])
  await writeFile(file, gateway(port) + route().replace('rules', 'rulez'))
  await program.logged('configuration refused')
  assert.match(program.output, /served\.yaml:14:3: HTTPRoute shop: spec\.rulez: is not a known key/)
})

test('Gateways on other ports are served by the same process; one whose port is taken is named', async (t) => {
  const [one, two] = [await freePort(), await freePort()]
  const both = `${gateway(one)}---${gateway(two, 'second')}---${gateway(one, 'third')}`
  const program = runProgram(['-f', '-'], both + route() + service(shop.port), off)
  t.after(() => program.stop())
  await program.logged('target=start')
  assert.equal(await answer(one), '200 from the shop')
  assert.match(await answer(two), /^404 /)
  const left = `Gateway default/third: is not served by this process: port ${one} is that of Gateway default/edge`
  assert.ok(program.output.includes(left), program.output)
})
