/** `weir -f` with several manifests and with folders of them. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folderOf } from '#engine/testing/daemon.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

const gateway = (port: number) => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge }
spec:
  gatewayClassName: weir
  listeners: [{ name: http, port: ${port}, protocol: HTTP }]
`

/** At /NAME it redirects to NAME.example. */
const route = (name: string) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [
      {
        matches: [{ path: { type: 'Exact', value: `/${name}` } }],
        filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: `${name}.example` } }]
      }
    ]
  }
})

const off = { WORKER_THREADS: '1', ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }

async function statusAt(port: number, path: string): Promise<number> {
  const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' })
  return status
}

test('files, folders and standard input are one cluster; every one of them is followed', async (t) => {
  const [folder, port] = [folderOf(t), await freePort()]
  const [alone, routes] = [join(folder, 'edge.yml'), join(folder, 'routes')]
  writeFileSync(alone, gateway(port))
  mkdirSync(routes)
  writeFileSync(join(routes, 'a.json'), JSON.stringify(route('a')))
  writeFileSync(join(routes, 'empty.yaml'), '# nothing yet\n')
  // None of them is a manifest to kubectl, or to us.
  for (const other of ['README.md', '.hidden.yaml', 'a.yaml~']) writeFileSync(join(routes, other), 'kind: [')
  const program = runProgram(['-f', alone, '-f', routes, '-f', '-'], JSON.stringify(route('typed')), off)
  t.after(() => program.stop())
  await program.logged('target=start')
  assert.deepEqual(
    [await statusAt(port, '/a'), await statusAt(port, '/typed'), await statusAt(port, '/b')],
    [302, 302, 404]
  )
  writeFileSync(join(routes, 'b.yaml'), `---\n${JSON.stringify(route('b'))}\n`)
  await program.logged('in force')
  assert.deepEqual([await statusAt(port, '/b'), await statusAt(port, '/typed')], [302, 302])
  rmSync(join(routes, 'a.json'))
  await program.logged('in force', 2)
  assert.deepEqual([await statusAt(port, '/a'), await statusAt(port, '/b')], [404, 302])
  writeFileSync(join(routes, 'b.yaml'), JSON.stringify(route('b')).replace('rules', 'rulez'))
  await program.logged('configuration refused')
  assert.match(program.output, /b\.yaml:1:\d+: HTTPRoute b: spec\.rulez: is not a known key/)
  assert.equal(await statusAt(port, '/b'), 302)
})

test('mistakes name their files, in the order in which these are given', async (t) => {
  const folder = folderOf(t)
  const [one, two] = [join(folder, 'z.yaml'), join(folder, 'a.yaml')]
  writeFileSync(one, `${gateway(80)}---\n${JSON.stringify(route('twice')).replace('rules', 'rulez')}\n`)
  writeFileSync(two, `# two\n${JSON.stringify(route('twice'))}\n---\n${gateway(80)}`)
  const program = runProgram(['--validate-only', '-f', one, '-f', two])
  assert.equal(await program.exited(), 3)
  const places = [...program.output.matchAll(/([za])\.yaml:(\d+):\d+/g)].map(([, file, line]) => `${file}:${line}`)
  assert.deepEqual(places, ['z:9', 'a:7', 'z:4'], program.output)
  assert.match(
    program.output,
    /Gateway edge: metadata\.name: is given twice: keep one of them\n +the first is at .*z\.yaml:4:/
  )
  assert.ok(program.output.includes(`2 mistakes in ${one}, ${two}; nothing was started`), program.output)
})

test('what is no manifest is refused beside others', async (t) => {
  const folder = folderOf(t)
  const config = join(folder, 'weir.yaml')
  writeFileSync(config, 'binds: []\n')
  writeFileSync(join(folder, 'other.yaml'), 'binds: []\n')
  const together = runProgram(['--validate-only', '-f', folder])
  assert.equal(await together.exited(), 3)
  assert.match(
    together.output,
    /weir\.yaml:1:1: is no manifest of Kubernetes, so it cannot be given beside other files/
  )
  writeFileSync(join(folder, 'other.yaml'), gateway(80))
  const beside = runProgram(['--validate-only', '-f', folder])
  assert.equal(await beside.exited(), 3)
  assert.match(beside.output, /weir\.yaml:1:1: is no resource: it has no apiVersion and kind/)
})

test('weir explain says where a Service is, and what comes where it has no endpoint', async (t) => {
  const folder = folderOf(t)
  const service = (name: string, addresses: readonly string[]) => [
    { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: addresses.map((address) => ({ addresses: [address] })),
      ports: [{ port: 8088 }]
    }
  ]
  const rules = ['shop', 'empty'].map((name) => ({
    matches: [{ path: { type: 'Exact', value: `/${name}` } }],
    backendRefs: [{ name, port: 80 }]
  }))
  const routes = { ...route('services'), spec: { parentRefs: [{ name: 'edge' }], rules } }
  const objects = [routes, ...service('shop', ['192.0.2.1', '192.0.2.2']), ...service('empty', [])]
  writeFileSync(join(folder, 'edge.yaml'), gateway(8080))
  writeFileSync(join(folder, 'objects.yaml'), objects.map((one) => JSON.stringify(one)).join('\n---\n'))
  const explained = async (path: string) => {
    const program = runProgram(['explain', '-f', folder, '-r', `GET http://a:8080${path}`])
    return [await program.exited(), program.output] as const
  }
  const [served, shop] = await explained('/shop')
  assert.equal(served, 0, shop)
  const at = 'sends     to shop.default.svc.cluster.local:80\n  at      192.0.2.1:8088, 192.0.2.2:8088\n  GET /shop\n'
  assert.ok(shop.includes(at), shop)
  const [refused, empty] = await explained('/empty')
  assert.equal(refused, 1, empty)
  assert.match(empty, /answer {4}503 NO_ENDPOINT/)
  assert.doesNotMatch(empty, /sends/)
})
