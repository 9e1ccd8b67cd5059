/** `weir explain` and POST /explain of the program. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Explanation } from '#engine/explain/explanation.ts'
import { folderOf } from '#engine/testing/daemon.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

const file = (port: number, more = {}) =>
  JSON.stringify({
    binds: [
      {
        port,
        listeners: [
          {
            routes: [
              {
                name: 'one',
                matches: [{ path: { exact: '/a' } }],
                policies: {
                  rateLimit: { local: [{ requests: 2, unit: 'Hours' }] },
                  directResponse: { status: 200, body: 'hi' }
                }
              },
              { name: 'two', matches: [{ path: { exact: '/b' } }], backends: [{ host: 'b.internal:1' }] }
            ]
          }
        ]
      }
    ],
    ...more
  })

async function run(...args: readonly string[]): Promise<readonly [number | null, string]> {
  const program = runProgram(['explain', ...args])
  return [await program.exited(), program.output]
}

test('exit codes: 0 served, 1 refused, 2 wrong usage', async () => {
  const text = file(8080)
  const [served, shown] = await run('-r', 'GET http://a:8080/b', '-H', 'X-A: b', '-c', text)
  assert.equal(served, 0, shown)
  assert.match(
    shown,
    /sends {5}to b\.internal:1\n {2}GET \/b\n {2}Host: b\.internal:1\n {2}X-A: b\noutcome {3}it reaches/
  )
  const [refused, json] = await run('-r', 'http://a:8080/c', '--json', '-c', text)
  assert.equal(refused, 1)
  const { outcome } = JSON.parse(json) as Explanation
  assert.ok(outcome.kind === 'answer' && outcome.status === 404)
  const unread = await run('-r', 'http://a/', '-d', '@/nowhere/at/all', '-c', text)
  assert.deepEqual([unread[0], unread[1].startsWith('weir: -d: cannot read the file: ENOENT')], [2, true])
  const split = await run('-r', 'http://a/', '-H', 'X: a\r\nY: b', '-c', text)
  assert.deepEqual([split[0], split[1].split('\n')[0]], [2, 'weir: the value of the header X has a line break'])
})

test('POST /explain: of what runs, with the buckets as they are, and nothing is taken from them', async (t) => {
  const [port, admin] = [await freePort(), await freePort()]
  const path = join(folderOf(t), 'weir.json')
  writeFileSync(
    path,
    file(port, { config: { adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off' } })
  )
  const program = runProgram(['-f', path])
  t.after(() => program.stop())
  await program.logged('target=start')
  const at = `http://127.0.0.1:${port}/a`
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${admin}/explain`, { method: 'POST', body, headers })
  const explained = async (): Promise<Explanation> =>
    (await (await post(JSON.stringify({ url: at }))).json()) as Explanation
  const left = async () => (await explained()).policies[0]!.limits[0]!.match(/has.*/)![0]
  assert.equal(await left(), 'has 2 of 2')
  assert.equal(await left(), 'has 2 of 2')
  assert.equal((await fetch(at)).status, 200)
  assert.equal(await left(), 'has 1 of 2')
  assert.equal((await fetch(at)).status, 200)
  const { outcome } = await explained()
  assert.ok(outcome.kind === 'answer')
  assert.deepEqual([outcome.status, outcome.code, (await fetch(at)).status], [429, 'RATE_LIMITED', 429])

  assert.equal((await post('x')).status, 400)
  assert.equal((await post('[]')).status, 400)
  const wrong = await post('{"url": "no"}')
  assert.deepEqual([wrong.status, await wrong.json()], [400, { error: 'the URL must begin with http:// or https://' }])
  assert.equal((await post('{}', { origin: 'https://evil.example' })).status, 403)
  assert.equal((await post('x'.repeat(1024 * 1024 + 1))).status, 413)
  assert.equal((await fetch(`http://127.0.0.1:${admin}/explain`)).status, 405)
})

test('POST /explain: a call whose budget is used up is refused, as by the gateway that runs', async (t) => {
  const [port, admin, provider] = [await freePort(), await freePort(), createServer()]
  provider.on('request', (request, response) => {
    request.resume().on('end', () => {
      const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
      const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  t.after(() => {
    provider.closeAllConnections()
    provider.close()
  })
  const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`
  const config = {
    config: {
      ...{ adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off' },
      prices: { models: [{ model: 'm', input: 100_000, output: 100_000 }] }
    },
    llm: { port, models: [{ name: 'm', provider: 'openai', params: { baseUrl } }] },
    keys: [{ name: 'alice', key: 'sk-alice-0123456789', budgets: [{ amount: 2, period: 'Total' }] }]
  }
  const path = join(folderOf(t), 'weir.json')
  writeFileSync(path, JSON.stringify(config))
  const program = runProgram(['-f', path])
  t.after(() => program.stop())
  await program.logged('target=start')
  const url = `http://127.0.0.1:${port}/v1/chat/completions`
  const headers = { authorization: 'Bearer sk-alice-0123456789', 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] })
  const explained = async () => {
    const question = JSON.stringify({ method: 'POST', url, headers, body })
    const { key, outcome } = (await (
      await fetch(`http://127.0.0.1:${admin}/explain`, { method: 'POST', body: question })
    ).json()) as Explanation
    return [key?.budgets[0]?.left, outcome.kind === 'answer' ? outcome.code : outcome.kind]
  }
  assert.deepEqual(await explained(), ['2', 'upstream'])
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.arrayBuffer()
  assert.equal(response.status, 200)
  assert.deepEqual(await explained(), ['0', 'BUDGET_EXCEEDED'])
})
