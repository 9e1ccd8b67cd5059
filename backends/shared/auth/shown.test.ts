/** What backends are shown, and nobody else: the policy `auth` and what reads the request after an attempt. */
import { deepEqual, equal } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'

const KEY = 'canary'
const AWS = { accessKeyId: KEY, secretAccessKey: 's', sessionToken: KEY, region: 'eu-west-1', service: 'execute-api' }
const BODY = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })

const ANSWER = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
})

async function serverOf(t: TestContext, answer: RequestListener) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.headers.authorization ?? request.headers['x-api-key']}`)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return { seen, port: (server.address() as AddressInfo).port }
}

const FIELDS = ['authorization', 'x-api-key', 'x-amz-security-token']
const shown = FIELDS.map((name) => `default(request.headers["${name}"], "none")`).join(' + " " + ')

async function gatewayOf(t: TestContext, route: object, backend: object) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-shown-'))
  const path = join(folder, 'access.log')
  const policies = { transformation: { response: { set: { 'x-seen': shown } } }, ...route }
  const file = {
    frontendPolicies: { accessLog: { add: { shown, all: 'request.headers' } } },
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [backend] }] }] }]
  }
  const gateway = await startGateway(JSON.stringify(file), { log: { format: 'json', fd: openSync(path, 'a') } })
  t.after(() => rmSync(folder, { recursive: true }))
  const close = async () => {
    await gateway.close()
    return readFileSync(path, 'utf8')
  }
  return { port: gateway.port, close }
}

const ask = async (port: number, headers: Record<string, string>) => {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', body: BODY, headers })
  await answer.text()
  return { status: answer.status, seen: answer.headers.get('x-seen') }
}

const answering =
  (status: number): RequestListener =>
  (request, response) => {
    request.resume().on('end', () => response.writeHead(status).end(ANSWER))
  }

const at = (port: number, auth: object) => ({ host: `127.0.0.1:${port}`, policies: { auth } })
const model = (port: number, provider: string) => ({
  ai: { provider: { [provider]: {}, host: '127.0.0.1', port, policies: { auth: { key: KEY } } } }
})

test('neither expressions behind the answer nor logs see what a backend was shown, whoever answers', async (t) => {
  const live = await serverOf(t, answering(200))
  const refusing = await serverOf(t, answering(400))
  const silent = await serverOf(t, () => {})
  const dead = await freePort()
  const cases: [string, object, number][] = [
    ['static, live', at(live.port, { key: KEY }), 200],
    ['static, dead', at(dead, { key: KEY }), 502],
    ['static, silent', at(silent.port, { key: KEY }), 504],
    ['signed, live', at(live.port, { aws: AWS }), 200],
    ['signed, dead', at(dead, { aws: AWS }), 502],
    ['ai, live', model(live.port, 'openai'), 200],
    ['ai, dead', model(dead, 'openai'), 502],
    ['ai, silent', model(silent.port, 'anthropic'), 504],
    ['ai, refusing', model(refusing.port, 'anthropic'), 400]
  ]
  for (const [name, backend, status] of cases) {
    for (const retry of [{}, { retry: { attempts: 1, codes: [502] } }]) {
      const timeout = { requestTimeout: status === 504 ? '300ms' : '60s' }
      const { port, close } = await gatewayOf(t, { timeout, ...retry }, backend)
      for (const own of ['none', 'Bearer client']) {
        const headers: Record<string, string> = own === 'none' ? {} : { authorization: own }
        deepEqual([name, await ask(port, headers)], [name, { status, seen: `${own} none none` }])
      }
      const log = await close()
      equal(log.split('\n').length, 3, name)
      equal(log.includes(KEY), false, name)
    }
  }
  equal(live.seen.filter((one) => one.includes(KEY)).length, 12)
})
