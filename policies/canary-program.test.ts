/**
 * Secrets of a configuration in the whole program, with everything failing that can: no line that it writes, no answer,
 * metric, page or dump has any of them.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { isSensitive } from '#engine/kit/sensitive.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { ADMIN_TOKEN, Canaries, canaryConfig, SECRET_FIELDS, type Surroundings } from '#engine/testing/canaries.ts'
import { folderOf } from '#engine/testing/daemon.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { type JsonSchema, placesOf } from '#engine/testing/schema-places.ts'
import { policies } from './index.ts'

/** Named like a secret, and none: modes, rules, names of places, paths of files, what is refused whatever it is. */
const NO_SECRET =
  /\.(?:mode|action|rules|name|file|authorizationServer)$|^(?:local|localRateLimit|cache|entries|consistentHash|canary)\.key$|^tokens\.role$|^(?:cloudD|basicAuth\.|apiKeyAuth)|^keys\.(?:owner|team|organisation|tags|models|expires)$|\.unknownPrice$/

test('the configuration below has a secret in every place of the schema that takes one', () => {
  const missing: string[] = []
  for (const [path, { takesText }] of placesOf(JSON.parse(jsonSchema(policies, backends)) as JsonSchema)) {
    const keys = path.split('.').filter((key) => key !== '[]')
    const field = keys.slice(-2).join('.')
    if (!takesText || !keys.slice(-2).some(isSensitive) || NO_SECRET.test(field)) continue
    if (!SECRET_FIELDS.includes(field)) missing.push(path)
  }
  assert.deepEqual(missing, [])
})

const DOCUMENT = { openapi: '3.1.0', info: {}, paths: { '/a': { get: { operationId: 'a', responses: {} } } } }

async function surroundings(t: TestContext): Promise<Surroundings> {
  const server = createServer((_, response) => response.end(JSON.stringify(DOCUMENT))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const plain = await rawServer((client) => client.send('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'))
  t.after(() => plain.close())
  const port = async () => await freePort()
  return {
    ...{ folder: folderOf(t), port: await port(), tlsPort: await port(), llmPort: await port(), dead: await port() },
    ...{ admin: `127.0.0.1:${await port()}`, stats: `127.0.0.1:${await port()}`, plain: plain.port },
    document: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`
  }
}

const ADMITTED = { authorization: `Bearer ${ADMIN_TOKEN}` }
const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
const HELLO = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
})

async function answerOf(url: string, init: RequestInit = {}): Promise<string> {
  const answer = await fetch(url, init)
  return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`
}

/** Every request comes back, with whatever answer. `secret` is a secret of the client. */
async function requests({ port, tlsPort, llmPort }: Surroundings, secret: string): Promise<string[]> {
  const at = (path: string) => `http://127.0.0.1:${port}${path}`
  const chat = { method: 'POST', headers: { 'content-type': 'application/json' }, body: CHAT }
  const accept = 'application/json, text/event-stream'
  const token = `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(`{"iss":"https://issuer.example","exp":9999999999}`).toString('base64url')}.${secret}`
  const answers = [
    ...['/ai', '/moderated', '/dns', '/bedrock', '/vertex'].map((path) =>
      answerOf(at(`${path}/v1/chat/completions`), chat)
    ),
    ...['/tls', '/fields', '/issued', '/nothing', `/fields?token=${secret}`].map((path) => answerOf(at(path))),
    answerOf(at('/fields'), {
      headers: { authorization: `Bearer ${secret}`, 'x-api-key': secret, cookie: `a=${secret}` }
    }),
    answerOf(at('/basic'), {
      headers: { authorization: `Basic ${Buffer.from(`canary:${secret}`).toString('base64')}` }
    }),
    ...[`/key?k=${secret}`, '/key', `/key?k=${secret}&k=${secret}`].map((path) => answerOf(at(path))),
    answerOf(at('/jwt'), { headers: { authorization: `Bearer ${token}` } }),
    answerOf(at('/jwt'), { headers: { authorization: `Bearer ${secret}` } }),
    answerOf(at('/mcp'), { ...chat, headers: { ...chat.headers, accept }, body: HELLO }),
    answerOf(`http://127.0.0.1:${llmPort}/v1/chat/completions`, chat),
    exchangeRaw(tlsPort, 'GET / HTTP/1.1\r\nHost: canary.test\r\n\r\n'),
    exchangeRaw(port, `GET /fields HTTP/1.1\r\nHost: a\r\nAuthorization: ${secret}\r\nBad Name: ${secret}\r\n\r\n`)
  ]
  return await Promise.all(answers)
}

/** The same requests, as far as they are HTTP, explained at the admin port. */
async function explanations({ port, llmPort, admin }: Surroundings, secret: string): Promise<string[]> {
  const explain = async (target: string, more: object = {}, at = port) => {
    const body = JSON.stringify({ url: `http://127.0.0.1:${at}${target}`, ...more })
    const found = await answerOf(`http://${admin}/explain`, { method: 'POST', headers: ADMITTED, body })
    assert.match(found, /^200 /, found)
    return found
  }
  const chat = { method: 'POST', headers: { 'content-type': 'application/json' }, body: CHAT }
  const keys = { authorization: `Bearer ${secret}`, 'x-api-key': secret, cookie: `a=${secret}` }
  return [
    ...(await Promise.all(
      ['/ai', '/moderated', '/dns', '/bedrock', '/vertex'].map((path) => explain(`${path}/v1/chat/completions`, chat))
    )),
    ...(await Promise.all(
      ['/tls', '/fields', '/nothing', `/fields?token=${secret}`, '/basic', `/key?k=${secret}`, '/jwt'].map((path) =>
        explain(path, { headers: keys })
      )
    )),
    await explain('/mcp', { ...chat, body: HELLO }),
    await explain('/v1/chat/completions', chat, llmPort)
  ]
}

/** What has to have gone wrong: otherwise nothing was looked at. */
const REASONS = [
  ...['CONNECT_FAILURE', 'DNS_FAILURE', 'UPSTREAM_TLS', 'BACKEND_CREDENTIALS', 'NO_BACKEND', 'ROUTE_NOT_FOUND'],
  ...['BASIC_INVALID', 'API_KEY_INVALID', 'API_KEY_REPEATED', 'JWT_KEYS_UNAVAILABLE', 'JWT_MALFORMED', 'BAD_REQUEST'],
  ...['clear_text_http', 'cannot fetch the keys', 'no credentials of Google', 'bad option: --token=<redacted>'],
  ...['weir-no-such-program', 'the backend refused the connection', 'in force', 'configuration refused']
]

test('no line, answer, metric, page or dump of the program has a secret of the configuration or a client', async (t) => {
  const [canaries, around] = [new Canaries(), await surroundings(t)]
  const { file, env } = canaryConfig(canaries, around)
  const path = join(around.folder, 'weir.json')
  const write = (config: object) => writeFileSync(path, JSON.stringify(config))
  const none = (text: string, where: string) => assert.deepEqual(canaries.in(text), [], `${where}: ${text}`)
  const secret = canaries.make('of the client')
  write(file)
  const program = runProgram(['-f', path], '', env)
  t.after(() => program.stop())
  await program.logged('"start"')

  const answers = await requests(around, secret)
  for (const answer of answers) none(answer, 'an answer')
  // It is enough to go on with another client's session.
  canaries.add('id of a session', /"mcp-session-id","([^"]+)"/.exec(answers.join('\n'))![1]!)
  const pages = async () => {
    for (const page of [
      '/config_dump',
      '/ui/',
      '/',
      '/api/v1/configuration',
      '/api/v1/configuration/text',
      '/api/v1/session',
      '/api/v1/series?names=*'
    ]) {
      const shown = await answerOf(`http://${around.admin}${page}`, { headers: ADMITTED })
      assert.doesNotMatch(shown, /^40[13] /, page)
      none(shown, page)
      none(await answerOf(`http://${around.admin}${page}`, { headers: { authorization: `Bearer ${secret}` } }), page)
    }
    none(await answerOf(`http://${around.stats}/metrics`), 'the metrics')
  }
  await pages()
  for (const explained of await explanations(around, secret)) none(explained, 'an explanation')
  // Put in force again with a change, and refused with a mistake beside everything.
  write({ ...file, llm: undefined })
  await program.logged(/configuration \w+ in force/)
  // Beside a mistake, and with each secret in the place of a key.
  write({ ...file, bindz: [], ...Object.fromEntries(canaries.made.map((text) => [text, 1])) })
  await program.logged('configuration refused')
  await pages()
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  for (const reason of REASONS) assert.ok(program.output.includes(reason), reason)
  none(program.output, 'the log')
})
