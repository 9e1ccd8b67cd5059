/** Keys in the real program: made by the API, exact over its workers, and still there after kill -9. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

interface Ports {
  readonly port: number
  readonly admin: number
  readonly folder: string
}

const config = ({ port, admin, folder }: Ports): string =>
  JSON.stringify({
    config: {
      adminAddr: `127.0.0.1:${admin}`,
      statsAddr: 'off',
      readinessAddr: 'off',
      workerThreads: 3,
      logging: { level: 'info,request=off' },
      state: { path: folder }
    },
    teams: [{ name: 'ml', limits: [{ requests: 40, unit: 'Days' }] }],
    keys: [{ name: 'alice', key: 'sk-alice-0001' }],
    binds: [
      {
        port,
        listeners: [{ routes: [{ policies: { virtualKeys: {}, directResponse: { status: 200, body: 'in' } } }] }]
      }
    ]
  })

async function start(t: TestContext, ports: Ports): Promise<RunningProgram> {
  const program = runProgram(['-c', config(ports)])
  t.after(() => program.stop())
  await program.logged('target=start')
  return program
}

test('with a folder for keys, and none in the file, the port of models asks for those of the API from the first', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true }))
  const [port, admin] = [await freePort(), await freePort()]
  const text = JSON.stringify({
    config: { adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off', state: { path: folder } },
    llm: { port, models: [{ name: 'a', provider: 'openai' }] }
  })
  const program = runProgram(['-c', text])
  t.after(() => program.stop())
  await program.logged('target=start')
  const list = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`http://127.0.0.1:${port}/v1/models`, { headers })).status
  }
  equal(await list('sk-unknown'), 401)
  const made = await fetch(`http://127.0.0.1:${admin}/api/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bot' })
  })
  equal(await list(((await made.json()) as { readonly key: string }).key), 200)
})

test('a key of the API holds over all workers, and outlives kill -9; a second process does not get its folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true }))
  const ports = { port: await freePort(), admin: await freePort(), folder }
  const api = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${ports.admin}/api/v1/keys${path}`, { method, headers, ...sent })
    return response.status === 204 ? null : ((await response.json()) as { readonly key?: string })
  }
  const ask = async (key: string) => {
    // A connection of its own: any worker may get it.
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    return (await fetch(`http://127.0.0.1:${ports.port}/`, { headers })).status
  }
  const first = await start(t, ports)
  const { key } = (await api('POST', '', { name: 'bot', team: 'ml' }))!
  const statuses = await Promise.all(Array.from({ length: 90 }, () => ask(key!)))
  deepEqual(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [40, 50]
  )
  equal(await ask('sk-alice-0001'), 200)
  const second = runProgram(['-c', config({ ...ports, port: await freePort(), admin: await freePort() })])
  t.after(() => second.stop())
  equal(await second.exited(), 1)
  match(second.output, /cannot start: config\.state\.path: .* is in use by another process of weir/)
  first.signal('SIGKILL')
  await first.exited()
  const third = await start(t, ports)
  equal(await ask(key!), 200)
  const { key: rotated } = (await api('POST', '/bot/rotate', { gracePeriod: '0s' }))!
  deepEqual([await ask(key!), await ask(rotated!)], [401, 200])
  equal(await api('DELETE', '/bot'), null)
  equal(await ask(rotated!), 401)
  equal(third.output.includes('sk-'), false)
})
