/** One limit over the workers of the real program. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { rawClient } from '#engine/testing/raw.ts'

const CLIENTS = 40
const REQUESTS_EACH = 25
const ROUND = CLIENTS * REQUESTS_EACH

const config = (port: number, stats: number, limit: string, text: string): string => `
config: { adminAddr: 'off', statsAddr: '127.0.0.1:${stats}', readinessAddr: 'off', workerThreads: 4, logging: { level: 'info,request=off' } }
binds:
- port: ${port}
  listeners:
  - routes:
    - name: limited
      policies:
        rateLimit: { local: [${limit}] }
        directResponse: { status: 200, body: ${text} }
`

/** How many answers of each status come back when all clients send all they have at once. */
async function fire(port: number, header: (client: number) => string = () => ''): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const one = async (number: number) => {
    const client = await rawClient(port)
    const request = (more: string) => `GET / HTTP/1.1\r\nHost: example.com\r\n${header(number)}${more}\r\n`
    client.send(request('').repeat(REQUESTS_EACH - 1) + request('Connection: close\r\n'))
    for (const [, status] of (await client.untilEnd()).matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      counts[status!] = (counts[status!] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => one(number)))
  return counts
}

test('four workers let exactly N pass, before and after reloads', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [port, stats] = [await freePort(), await freePort()]
  const file = join(folder, 'weir.yaml')
  const limit = '{ requests: 100, burst: 11, unit: Hours }'
  await writeFile(file, config(port, stats, limit, 'one'))
  const program = runProgram(['-f', file])
  t.after(() => program.stop())
  await program.logged('4 workers')
  assert.deepEqual(await fire(port), { 200: 111, 429: ROUND - 111 })

  let reloads = 0
  const reload = async (text: string) => {
    await writeFile(file, text)
    program.signal('SIGHUP')
    await program.logged(/configuration \w+ in force/, ++reloads)
  }
  await reload(config(port, stats, limit, 'two'))
  assert.deepEqual(await fire(port), { 429: ROUND })

  const own = '{ requests: 3, unit: Hours, key: \'request.headers["x-caller"]\' }'
  await reload(config(port, stats, `{ requests: 1000, unit: Hours }, ${own}`, 'three'))
  // Two clients for each caller: a refused one gives back what the first limit gave.
  const callers = CLIENTS / 2
  assert.deepEqual(await fire(port, (client) => `x-caller: ${client % callers}\r\n`), {
    200: 3 * callers,
    429: ROUND - 3 * callers
  })
  assert.deepEqual(await fire(port), { 200: 3, 429: ROUND - 3 })

  const client = await rawClient(stats)
  client.send('GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  assert.match(await client.untilEnd(), new RegExp(`weir_rate_limit_callers_total\\{result="unknown"\\} ${ROUND}\n`))
})
