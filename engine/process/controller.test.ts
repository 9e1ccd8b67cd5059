import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LEASE } from '#engine/kubernetes/client/leader-election.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { readArguments } from './cli.ts'

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

test('a kubeconfig that cannot be used ends it with the reason', async (t) => {
  const config = kubeconfig(t, 'https://127.0.0.1:1', { exec: { command: 'aws' } })
  const program = runProgram(['controller', `--kubeconfig=${config}`])
  assert.equal(await program.exited(), 1)
  assert.match(program.output, /^weir: kubeconfig: users: me: exec: is not run; use a token/m)
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
  assert.ok(typed.kind === 'controller')
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
  assert.deepEqual(read('-h'), { kind: 'controller-help' })
})
