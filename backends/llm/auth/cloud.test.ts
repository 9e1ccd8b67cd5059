/** Whom a provider is shown: signatures of AWS, tokens of Google, keys, and what the client came with. */

import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import { redact } from '#engine/admin/redact.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { refuseAs } from '#engine/testing/aws.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { ASK, aws, CHAT, environment, fileOf, gateway, KEYS, models, there } from '#engine/testing/llm.ts'
import type { Models } from '#engine/testing/models.ts'
import { policies as registry } from '#policies/index.ts'

async function vertexWith(t: TestContext, mock: Models, answer: (response: ServerResponse) => void) {
  const tokens = createServer((_, response) => answer(response))
  tokens.listen(0, '127.0.0.1')
  await once(tokens, 'listening')
  t.after(() => {
    tokens.close()
    tokens.closeAllConnections()
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const inline = JSON.stringify({
    type: 'service_account',
    client_email: 'me@p',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/`
  })
  return {
    vertexai: { projectId: 'p', region: 'global', model: 'gemini-3' },
    ...there(mock),
    policies: { auth: { gcp: { credential: { inline } } } }
  }
}

const JWT = 'eyJhbGciOiJub25lIn0.e30.c2ln'

test('without credentials the next provider is asked; without another the client is told, and nobody a secret', async (t) => {
  const mock = await models(t)
  environment(t, { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file' })
  const vertex = { name: 'v', vertexai: { projectId: 'p', region: 'global', model: 'gemini-3' }, ...there(mock) }
  const openai = { name: 'o', openai: {}, ...there(mock), policies: { auth: { key: 'k' } } }
  const both = await gateway(t, { groups: [{ providers: [vertex] }, { providers: [openai] }] })
  const answer = await both.ask(CHAT, ASK)
  equal(answer.status, 200)
  match(both.logged.join('\n'), /no credentials of Google: the file of the credential cannot be read \(ENOENT\)/)
  equal(mock.requests.length, 1)
  const alone = await gateway(t, { groups: [{ providers: [vertex] }], routes: { '*': 'Messages' } })
  const refused = await alone.ask('/v1/messages', { ...ASK, max_tokens: 5 })
  equal(refused.status, 503)
  const { type, error } = (await refused.json()) as { type: string; error: object }
  const message = 'the gateway has no credentials for the backend at the moment'
  deepEqual([type, error], ['error', { type: 'overloaded_error', message }])
})

test('who gives up while a token is fetched is sent nowhere, and a retry is sent once', async (t) => {
  const mock = await models(t)
  const held: ServerResponse[] = []
  let came = Promise.withResolvers<void>()
  const provider = await vertexWith(t, mock, (response) => {
    held.push(response)
    came.resolve()
  })
  const policies = {
    timeouts: { backendRequest: '50ms', request: '250ms' },
    retry: { attempts: 1, codes: [504] }
  }
  const { ask } = await gateway(t, { provider }, policies)
  const LATE = { ...ASK, messages: [{ role: 'user', content: 'given up' }] }
  const late = await ask(CHAT, LATE)
  equal(late.status, 504)
  match(await late.text(), /^\{"error":\{/)
  await came.promise
  held.shift()!.end('{"access_token":"ya29.x","expires_in":3600}')
  // It has arrived: no request waits any more, and only this one is sent. On a slow machine it may run out of time too.
  let inTime = await ask(CHAT, ASK)
  while (inTime.status === 504) inTime = await ask(CHAT, ASK)
  equal(inTime.status, 200)
  const second = await vertexWith(t, mock, (response) => {
    held.push(response)
    came.resolve()
  })
  came = Promise.withResolvers<void>()
  const patient = await gateway(t, { provider: second })
  const controller = new AbortController()
  const gone = fetch(`http://127.0.0.1:${patient.port}${CHAT}`, {
    method: 'POST',
    body: JSON.stringify(LATE),
    signal: controller.signal
  })
  await came.promise
  controller.abort()
  await rejects(gone)
  held.shift()!.end('{"access_token":"ya29.x","expires_in":3600}')
  equal((await patient.ask(CHAT, ASK)).status, 200)
  equal(mock.requests.length >= 2, true)
  deepEqual(
    mock.requests.filter(({ bytes }) => bytes.includes('given up')),
    []
  )
})

test('Vertex AI gets a token of the service account, fetched once', async (t) => {
  const mock = await models(t)
  let calls = 0
  const provider = await vertexWith(t, mock, (response) => {
    response.end(JSON.stringify({ access_token: `ya29.${++calls}`, expires_in: 3600 }))
  })
  const { ask } = await gateway(t, { provider })
  for (const _ of [1, 2]) equal((await ask(CHAT, ASK, { authorization: 'Bearer of-the-client' })).status, 200)
  deepEqual(
    mock.requests.map(({ headers }) => headers.authorization),
    ['Bearer ya29.1', 'Bearer ya29.1']
  )
})

test("a client's own key goes where the provider reads it; Basic is no key", async (t) => {
  const mock = await models(t)
  const vertexai = { projectId: 'p', region: 'global', model: 'gemini-3' }
  const cases: [provider: object, sent: Record<string, string>, got: Record<string, string>][] = [
    [{ openai: {} }, { 'x-api-key': 'k' }, { authorization: 'Bearer k' }],
    [{ openai: {} }, { authorization: 'Basic dTpw' }, {}],
    [{ openai: {} }, { authorization: 'Basic dTpw', 'x-api-key': 'k' }, { authorization: 'Bearer k' }],
    [{ custom: {} }, { authorization: 'Basic dTpw' }, {}],
    [
      { custom: {}, policies: { auth: { passthrough: {} } } },
      { authorization: 'Basic dTpw' },
      { authorization: 'Basic dTpw' }
    ],
    [{ custom: {}, policies: { auth: { key: 'Basic dTpw' } } }, { 'x-api-key': 'k' }, { authorization: 'Basic dTpw' }],
    [{ openai: {}, policies: { auth: { key: 'Bearer k' } } }, {}, { authorization: 'Bearer k' }],
    [{ anthropic: {} }, { authorization: 'bearer k' }, { 'x-api-key': 'k' }],
    [{ anthropic: {} }, { authorization: 'Bearer sk-ant-oat01-x' }, { authorization: 'Bearer sk-ant-oat01-x' }],
    [{ gemini: {} }, { authorization: 'Bearer k' }, { 'x-goog-api-key': 'k' }],
    [{ gemini: {} }, { authorization: 'Bearer ya29.k' }, { authorization: 'Bearer ya29.k' }],
    [{ azureopenai: { endpoint: 'a' } }, { authorization: 'Bearer k' }, { 'api-key': 'k' }],
    [{ azureopenai: { endpoint: 'a' } }, { authorization: `Bearer ${JWT}` }, { authorization: `Bearer ${JWT}` }],
    [
      { vertexai, policies: { auth: { passthrough: {} } } },
      { 'x-api-key': 'ya29.k' },
      { authorization: 'Bearer ya29.k' }
    ],
    [{ vertexai, policies: { auth: { passthrough: {} } } }, { 'x-api-key': 'AIzak' }, { 'x-goog-api-key': 'AIzak' }],
    [{ bedrock: {}, policies: { auth: { passthrough: {} } } }, { 'api-key': 'ABSK' }, { authorization: 'Bearer ABSK' }]
  ]
  for (const [provider, sent, got] of cases) {
    const { ask, close } = await gateway(t, { provider: { ...provider, ...there(mock) } })
    await (await ask(CHAT, ASK, sent)).text()
    const { headers } = mock.requests.at(-1)!
    const names = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']
    const shown = Object.fromEntries(
      names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))
    )
    deepEqual(shown, got, JSON.stringify([provider, sent]))
    await close()
  }
})

test('a key in the query is one as well, and goes on as none', async (t) => {
  const mock = await models(t)
  const path = '/v1beta/models/m:generateContent'
  const routes = { '/raw': 'Passthrough', '*': 'GenerateContent' }
  const body = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
  const own = await gateway(t, { provider: { gemini: {}, ...there(mock) }, routes })
  const fixed = await gateway(t, {
    provider: { gemini: {}, ...there(mock), policies: { auth: { key: 'fixed' } } },
    routes
  })
  const other = await gateway(t, {
    provider: { openai: {}, ...there(mock), policies: { auth: { key: 'k' } } },
    routes
  })
  const cases: [typeof own, string, string, string | undefined][] = [
    [own, `${path}?key=mine&x=1`, `${path}?x=1`, 'mine'],
    [own, `${path}?x=1&key=a%0d%0ab:c`, `${path}?x=1`, undefined],
    [fixed, `${path}?key=mine`, path, 'fixed'],
    [fixed, '/raw?key=mine&key=again&monkey=1', '/raw?monkey=1', 'fixed'],
    [other, '/raw?key=mine&monkey=1', '/raw?monkey=1', undefined]
  ]
  for (const [{ ask }, target, wanted, key] of cases) {
    await (await ask(target, body)).text()
    const { path: got, headers } = mock.requests.at(-1)!
    deepEqual([got, headers['x-goog-api-key']], [wanted, key])
  }
})

test('Azure tells of its filters before it begins, and Google refuses in its own words', async (t) => {
  const mock = await models(t)
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: '', object: '', created: 0, model: '', choices: [], ...more })}\n\n`
  const delta = (fields: object, finish_reason: string | null = null) =>
    chunk({ id: 'c', model: 'gpt', choices: [{ index: 0, delta: fields, finish_reason }] })
  mock.instead = ({ path }, response) => {
    if (path.endsWith('rawPredict')) {
      response.writeHead(429, { 'content-type': 'application/json' })
      response.end('{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}')
      return true
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ prompt_filter_results: [{ prompt_index: 0 }] }))
    response.write(delta({ role: 'assistant', content: '' }) + delta({ content: 'Hi' }) + delta({}, 'stop'))
    response.end(`${chunk({ usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } })}data: [DONE]\n\n`)
    return true
  }
  const routes = { '*': 'Messages' }
  const azure = await gateway(t, { provider: { azureopenai: { endpoint: 'a' }, ...there(mock) }, routes })
  const streamed = await (await azure.ask('/v1/messages', { ...ASK, max_tokens: 5, stream: true })).text()
  match(streamed, /"text":"Hi"[\s\S]*"stop_reason":"end_turn"[\s\S]*"output_tokens":1[\s\S]*message_stop/)
  equal(streamed.includes('event: error'), false)
  const vertexai = { projectId: 'p', region: 'global', model: 'claude-x' }
  const passthrough = { auth: { passthrough: {} } }
  const vertex = await gateway(t, { provider: { vertexai, ...there(mock), policies: passthrough } })
  const refused = await vertex.ask(CHAT, ASK)
  equal(refused.status, 429)
  match(await refused.text(), /^\{"error":\{"message":"Quota exceeded"/)
})

test('what a policy has taken out is passed on only where the configuration says so', async (t) => {
  const mock = await models(t)
  const policies = { apiKeyAuthentication: { keys: [{ key: 'team-key' }] } }
  for (const [auth, wanted] of [
    [undefined, undefined],
    [{ passthrough: {} }, 'Bearer team-key'],
    [{ key: 'own' }, 'Bearer own']
  ] as const) {
    const provider = { openai: {}, ...there(mock), ...(auth === undefined ? {} : { policies: { auth } }) }
    const { ask } = await gateway(t, { provider }, policies)
    equal((await ask(CHAT, ASK, { authorization: 'Bearer team-key' })).status, 200)
    equal(mock.requests.at(-1)?.headers.authorization, wanted)
  }
})

test('after a failover a provider is shown neither the key of another, nor a signature', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    response.writeHead(503).end('{}')
    return true
  }
  const firsts = [
    { openai: {}, policies: { auth: { key: 'canary-of-openai' } } },
    { anthropic: {}, policies: { auth: { key: 'canary-of-anthropic' } } },
    { bedrock: {}, policies: aws(KEYS) }
  ]
  for (const provider of firsts) {
    const groups = [
      { providers: [{ name: 'a', ...provider, ...there(first) }] },
      { providers: [{ name: 'b', custom: {}, ...there(second) }] }
    ]
    const { ask } = await gateway(t, { groups })
    for (const sent of [{}, { authorization: 'Bearer own' }]) {
      equal((await ask(CHAT, ASK, sent)).status, 200)
      const { headers } = second.requests.at(-1)!
      equal(headers.authorization, (sent as { authorization?: string }).authorization)
      const shown = JSON.stringify(headers)
      equal(/canary|AKIA|x-amz/.test(shown), false, shown)
    }
  }
})

test('secrets are neither in the log nor in an error', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-cloud-')), 'log')
  const log = { format: 'json', fd: openSync(file, 'w') } as const
  const mock = await models(t)
  mock.instead = (_, response) => {
    refuseAs(response, 'ExpiredTokenException', 'The security token included in the request is expired')
    return true
  }
  const provider = { bedrock: {}, ...there(mock), policies: aws(KEYS) }
  const { ask, logged, metrics } = await gateway(t, { provider }, {}, { log })
  const answer = await ask(CHAT, ASK)
  const seen = (await answer.text()) + JSON.stringify([...answer.headers]) + metrics() + logged.join()
  while (readFileSync(file, 'utf8') === '') await new Promise((resolve) => setImmediate(resolve))
  equal(/canary|AKIA/.test(seen + readFileSync(file, 'utf8')), false)
  ok(answer.status === 403)
})

test('the configuration that people may read has no secret in it, and the neutral names are understood', () => {
  const providers = [
    { name: 'a', typeD: {}, policies: { auth: { cloudD: aws(KEYS).auth.aws } } },
    { name: 'b', typeA: {}, policies: { auth: { key: 'canary-key' } } },
    {
      name: 'c',
      typeCCloud: { projectId: 'p', region: 'global' },
      policies: { auth: { cloudC: { type: 'IdToken', audience: 'a', credential: { inline: '{"a":"canary"}' } } } }
    },
    { name: 'd', typeAHosted: { endpoint: 'a.example:8443' } }
  ]
  const options = { file: 'f', env: {}, policies: registry, backends, folder: '.' }
  const loaded = loadConfig(fileOf({ groups: [{ providers }] }).replace('"port":0', '"port":1'), options)
  ok(loaded.ok, loaded.ok ? '' : formatErrors(loaded.errors))
  const shown = JSON.stringify(redact(loaded.snapshot))
  equal(shown.includes('canary'), false, shown)
  match(shown, /"kind":"aws"/)
  const [ai] = Object.values(loaded.snapshot.backends) as AiBackend[]
  deepEqual(
    ai!.groups[0]!.map(({ type, auth, host, port }) => [type, auth.kind, host, port]),
    [
      ['bedrock', 'aws', null, null],
      ['openai', 'key', null, null],
      ['vertexai', 'gcp', null, null],
      ['azureopenai', 'client', 'a.example', 8443]
    ]
  )
})

test('mistakes are told with their place', async (t) => {
  const auth = (one: object) => ({ provider: { openai: {}, policies: { auth: one } } })
  const cases: [ai: object, RegExp][] = [
    [{ provider: { azureopenai: { endpoint: 'https://a/openai/v1' } } }, /endpoint: must be the host of a resource/],
    [{ provider: { azureopenai: { endpoint: 'a', apiVersion: '2024-10-21' } } }, /deploymentName: is required when/],
    [
      { provider: { azureopenai: { endpoint: 'a', apiVersion: 'latest' } } },
      /apiVersion: must be v1, preview or a date/
    ],
    [{ provider: { vertexai: { projectId: 'p' } } }, /region: is required/],
    [{ provider: { vertexai: { projectId: 'p/../q', region: 'r' } } }, /projectId: must be the id/],
    [{ provider: { bedrock: { region: 'evil.example/' } } }, /region: must have only lower-case/],
    [{ provider: { bedrock: { guardrail: { identifier: 'g' } } } }, /guardrail\.version: is required/],
    [{ provider: { openai: { apiKey: 'k' } } }, /openai\.apiKey: belongs beside the provider: policies: \{ auth/],
    [{ provider: { openai: {}, key: 'k' } }, /provider\.key: belongs into policies: \{ auth: \{ key: \$NAME/],
    [{ provider: { openai: {} }, policies: { auth: { key: 'k' } } }, /ai\.policies: belongs into the provider, or/],
    [auth({ secretRef: { name: 's' } }), /auth\.secretRef\.name: there is no secret 's'/],
    [auth({ aws: { secretRef: { name: 's' } } }), /aws\.secretRef\.name: there is no secret 's'/],
    [auth({ aws: { accessKeyId: 'a' } }), /accessKeyId and secretAccessKey belong together/],
    [auth({ aws: { sessionToken: 'a' } }), /sessionToken: is only used with/],
    [auth({ gcp: { audience: 'a' } }), /audience: is only used with type IdToken/],
    [auth({ gcp: { credential: { file: 'relative.json' } } }), /file: must be an absolute path/],
    [auth({ azure: {} }), /backend authentication 'azure' is not in this version/],
    [auth({ key: 'a\r\nb: c' }), /key: must be visible ASCII/],
    [auth({ key: 'a', passthrough: {} }), /exactly one of/]
  ]
  for (const [ai, wanted] of cases) await rejects(gateway(t, ai), wanted, JSON.stringify(ai))
})

test('the example of the documentation: one model in three clouds', async (t) => {
  const mock = await models(t)
  environment(t, {
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 's',
    GOOGLE_APPLICATION_CREDENTIALS: '/no'
  })
  const text = readFileSync(new URL('../../../docs/examples/llm-clouds.yaml', import.meta.url), 'utf8')
  const here = `\n${' '.repeat(26)}host: 127.0.0.1\n${' '.repeat(26)}port: ${mock.port}`
  const { port, close } = await startGateway(
    text
      .replace('port: 8080', 'port: 0')
      .replaceAll(/^ {26}(?:bedrock|vertexai|azureopenai): .*$/gm, (line) => line + here)
  )
  t.after(() => close())
  mock.instead = ({ path }, response) => {
    if (!path.startsWith('/model/')) return false
    response.writeHead(503).end('{"message":"busy"}')
    return true
  }
  const answer = await fetch(`http://127.0.0.1:${port}${CHAT}`, { method: 'POST', body: JSON.stringify(ASK) })
  match(await answer.text(), /Hello, world/)
  deepEqual(
    mock.requests.map(({ path, body }) => [path, body.model]),
    [
      ['/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse', undefined],
      ['/openai/v1/chat/completions', 'gpt-5']
    ]
  )
})
