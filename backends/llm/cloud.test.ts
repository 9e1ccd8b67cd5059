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
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { redact } from '#engine/admin/redact.ts'
import type { AiBackend } from '#engine/ir/snapshot.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { type AwsKeys, refuseAs, signatureProblem } from '#engine/testing/aws.ts'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { type Asked, type Models, startModels } from '#engine/testing/models.ts'
import { policies as registry } from '#policies/index.ts'

const KEYS: AwsKeys = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws', sessionToken: 'canary-session' }
const ASK = { model: 'anthropic.claude-v1:0', messages: [{ role: 'user', content: 'Hi' }] }
const CHAT = '/v1/chat/completions'

async function models(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

const fileOf = (ai: object, policies: object = {}) =>
  JSON.stringify({
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ ai }] }] }] }]
  })

async function gateway(t: TestContext, ai: object, policies: object = {}, options: TestOptions = {}) {
  const started = await startGateway(fileOf(ai, policies), options)
  t.after(() => started.close())
  const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${started.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
  return { ...started, ask }
}

/** From here on the mock takes only what is signed with `keys` for eu-west-1; tells why it refused. */
function checkSignatures(mock: Models, keys: AwsKeys, answer: (asked: Asked, response: ServerResponse) => void) {
  const problems: string[] = []
  mock.instead = (asked, response) => {
    void signatureProblem(asked, keys, 'eu-west-1', 'bedrock').then((problem) => {
      if (problem === null) return answer(asked, response)
      problems.push(problem)
      refuseAs(response, 'InvalidSignatureException', 'The request signature does not match')
    })
    return true
  }
  return problems
}

const there = ({ port }: Models) => ({ host: '127.0.0.1', port })
const aws = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys) => ({
  auth: { aws: { accessKeyId, secretAccessKey, sessionToken } }
})

test("AWS's own client is answered by the mock, and signs as the mock checks it: both are right", async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, KEYS, (asked, response) => mock.answer(asked, response))
  const clientOf = (credentials: AwsKeys) =>
    new BedrockRuntimeClient({
      region: 'eu-west-1',
      endpoint: `http://127.0.0.1:${mock.port}`,
      maxAttempts: 1,
      requestHandler: new NodeHttpHandler(),
      credentials
    })
  const client = clientOf(KEYS)
  const input = {
    modelId: 'arn:aws:bedrock:eu-west-1:1:p/x',
    messages: [{ role: 'user' as const, content: [{ text: 'Hi' }] }]
  }
  const { output, usage } = await client.send(new ConverseCommand(input))
  deepEqual([output?.message?.content?.[0]?.text, usage?.totalTokens], ['Hello, world', 19])
  let text = ''
  const { stream } = await client.send(new ConverseStreamCommand(input))
  for await (const event of stream!) text += event.contentBlockDelta?.delta?.text ?? ''
  deepEqual([text, problems], ['Hello, world', []])
  const stranger = clientOf({ ...KEYS, secretAccessKey: 'other' })
  await rejects(stranger.send(new ConverseCommand(input)), { name: 'InvalidSignatureException' })
  client.destroy()
  stranger.destroy()
})

test('requests to Bedrock are signed: the path, the body as sent, and nothing of the client', async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, KEYS, (asked, response) => mock.answer(asked, response))
  const guardrail = { identifier: 'g-1', version: '3' }
  const { ask } = await gateway(t, {
    provider: { bedrock: { region: 'eu-west-1', guardrail }, ...there(mock), policies: aws(KEYS) },
    routes: { '/raw': 'Passthrough', '*': 'Completions' }
  })
  const strange = {
    authorization: 'Bearer of-the-client',
    'x-amz-security-token': 'of-the-client',
    'x-amz-odd': 'of-the-client',
    'x-amzn-bedrock-trace': 'of-the-client'
  }
  for (const model of ['us.claude-v1:0', "arn:aws:bedrock:eu-west-1:1:profile/a b(c)'d*é", 'ü~%2F..']) {
    for (const stream of [false, true]) {
      const answer = await ask(
        CHAT,
        { ...ASK, model, stream, messages: [{ role: 'user', content: 'é\u{1F600}' }] },
        strange
      )
      equal(answer.headers.get('content-type')?.split(';')[0], stream ? 'text/event-stream' : 'application/json')
      match(await answer.text(), /Hello, /)
    }
    deepEqual(problems, [], model)
  }
  const { headers, body } = mock.asked.at(-1)!
  equal(JSON.stringify(headers).includes('of-the-client'), false)
  deepEqual(body.guardrailConfig, { guardrailIdentifier: 'g-1', guardrailVersion: '3' })
  // Longer than what is hashed in this thread.
  const long = { ...ASK, messages: [{ role: 'user', content: 'x'.repeat(1_200_000) }] }
  equal((await ask(CHAT, long)).status, 200)
  // Passed through: the client's method, path, query and body are what is signed.
  await ask('/raw?b=2&a=%C3%A9', { odd: true }, strange)
  deepEqual(problems, [])
})

test('a signature that does not fit is told in the words of the client', async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, { ...KEYS, secretAccessKey: 'other' }, (asked, response) =>
    mock.answer(asked, response)
  )
  const { ask } = await gateway(t, {
    provider: { bedrock: { region: 'eu-west-1' }, ...there(mock), policies: aws(KEYS) }
  })
  const answer = await ask(CHAT, ASK)
  equal(answer.status, 403)
  match(await answer.text(), /^\{"error":\{"message":"The request signature does not match"/)
  deepEqual(problems, ['the signature does not fit'])
})

test('Bedrock that breaks in the middle of a stream, or of a message, ends it as a well-formed error', async (t) => {
  const mock = await models(t)
  const { ask } = await gateway(t, { provider: { bedrock: {}, ...there(mock), policies: aws(KEYS) } })
  const whole = await fetch(`http://127.0.0.1:${mock.port}/model/m/converse-stream`, { method: 'POST', body: '{}' })
  const wire = Buffer.from(await whole.arrayBuffer())
  const broken = Buffer.from(wire)
  broken[wire.length - 6] = broken[wire.length - 6]! ^ 1
  let sent = wire
  mock.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(sent)
    return true
  }
  for (const bytes of [wire.subarray(0, 300), wire.subarray(0, 8), broken, Buffer.alloc(64, 255), Buffer.alloc(0)]) {
    sent = bytes
    const text = await (await ask(CHAT, { ...ASK, stream: true })).text()
    match(text, /data: \{"error":\{[^\n]*\}\n\n(?:data: \[DONE\]\n\n)?$/)
  }
  sent = wire
  match(await (await ask(CHAT, { ...ASK, stream: true })).text(), /"finish_reason":"stop"[^\n]*\n\ndata: \[DONE\]\n\n$/)
})

test('the default chain: credentials are fetched once for all who wait, and again before they end', async (t) => {
  const mock = await models(t)
  let current = KEYS
  let life = 3_600_000
  let calls = 0
  const container = createServer((_, response) => {
    calls++
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = current
    const Expiration = new Date(Date.now() + life).toISOString()
    response.end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }))
  })
  container.listen(0, '127.0.0.1')
  await once(container, 'listening')
  t.after(() => {
    container.close()
    container.closeAllConnections()
  })
  environment(t, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(container.address() as AddressInfo).port}/`,
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere'
  })
  const problems = checkSignatures(mock, KEYS, (asked, response) => mock.answer(asked, response))
  const ai = { provider: { bedrock: { region: 'eu-west-1' }, ...there(mock) } }
  const { ask, reload } = await gateway(t, ai)
  const answers = await Promise.all([1, 2, 3].map(() => ask(CHAT, ASK)))
  deepEqual([answers.map(({ status }) => status), problems, calls], [[200, 200, 200], [], 1])
  await reload(fileOf(ai))
  equal((await ask(CHAT, ASK)).status, 200)
  equal(calls, 1)
  // Of another gateway, so that what follows does not depend on the one above: a life that is over at once.
  life = 1
  const short = await gateway(t, ai)
  equal((await short.ask(CHAT, ASK)).status, 200)
  current = { ...KEYS, accessKeyId: 'ASIANEXT' }
  checkSignatures(mock, current, (asked, response) => mock.answer(asked, response))
  equal((await short.ask(CHAT, ASK)).status, 200)
  equal(calls, 3)
})

test('without credentials the next provider is asked; without another the client is told, and nobody a secret', async (t) => {
  const mock = await models(t)
  environment(t, { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file' })
  const vertex = { name: 'v', vertexai: { projectId: 'p', region: 'global', model: 'gemini-3' }, ...there(mock) }
  const openai = { name: 'o', openai: {}, ...there(mock), policies: { auth: { key: 'k' } } }
  const both = await gateway(t, { groups: [{ providers: [vertex] }, { providers: [openai] }] })
  const answer = await both.ask(CHAT, ASK)
  equal(answer.status, 200)
  match(both.logged.join('\n'), /no credentials of Google: the file of the credential cannot be read \(ENOENT\)/)
  equal(mock.asked.length, 1)
  const alone = await gateway(t, { groups: [{ providers: [vertex] }], routes: { '*': 'Messages' } })
  const refused = await alone.ask('/v1/messages', { ...ASK, max_tokens: 5 })
  equal(refused.status, 503)
  const { type, error } = (await refused.json()) as { type: string; error: object }
  const message = 'the gateway has no credentials for the backend at the moment'
  deepEqual([type, error], ['error', { type: 'overloaded_error', message }])
})

test('Vertex AI gets a token of the service account, fetched once', async (t) => {
  const mock = await models(t)
  let calls = 0
  const tokens = createServer((_, response) => {
    response.end(JSON.stringify({ access_token: `ya29.${++calls}`, expires_in: 3600 }))
  })
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
  const { ask } = await gateway(t, {
    provider: {
      vertexai: { projectId: 'p', region: 'global', model: 'gemini-3' },
      ...there(mock),
      policies: { auth: { gcp: { credential: { inline } } } }
    }
  })
  for (const _ of [1, 2]) equal((await ask(CHAT, ASK, { authorization: 'Bearer of-the-client' })).status, 200)
  deepEqual(
    mock.asked.map(({ headers }) => headers.authorization),
    ['Bearer ya29.1', 'Bearer ya29.1']
  )
})

const JWT = 'eyJhbGciOiJub25lIn0.e30.c2ln'

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
    const { headers } = mock.asked.at(-1)!
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
  const cases: [typeof own, string, string, string | undefined][] = [
    [own, `${path}?key=mine&x=1`, `${path}?x=1`, 'mine'],
    [own, `${path}?x=1&key=a%0d%0ab:c`, `${path}?x=1`, undefined],
    [fixed, `${path}?key=mine`, path, 'fixed'],
    [fixed, '/raw?key=mine&key=again&monkey=1', '/raw?monkey=1', 'fixed']
  ]
  for (const [{ ask }, asked, wanted, key] of cases) {
    await (await ask(asked, body)).text()
    const { path: got, headers } = mock.asked.at(-1)!
    deepEqual([got, headers['x-goog-api-key']], [wanted, key])
  }
})

test('Azure tells of its filters before it begins, and Google refuses in its own words', async (t) => {
  const mock = await models(t)
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: '', object: '', created: 0, model: '', choices: [], ...more })}\n\n`
  const delta = (said: object, finish_reason: string | null = null) =>
    chunk({ id: 'c', model: 'gpt', choices: [{ index: 0, delta: said, finish_reason }] })
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
    equal(mock.asked.at(-1)?.headers.authorization, wanted)
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
      const { headers } = second.asked.at(-1)!
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
  const options = { file: 'f', env: {}, policies: registry, folder: '.' }
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
    [auth({ secretRef: { name: 's' } }), /auth\.secretRef: is for resources of Kubernetes/],
    [auth({ aws: { secretRef: { name: 's' } } }), /aws\.secretRef: is for resources of Kubernetes/],
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

/** Sets variables of the process until the end of the test. */
function environment(t: TestContext, variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name]
    process.env[name] = value
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

test('the example of the documentation: one model in three clouds', async (t) => {
  const mock = await models(t)
  environment(t, {
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 's',
    GOOGLE_APPLICATION_CREDENTIALS: '/no'
  })
  const text = readFileSync(new URL('../../docs/examples/llm-clouds.yaml', import.meta.url), 'utf8')
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
    mock.asked.map(({ path, body }) => [path, body.model]),
    [
      ['/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse', undefined],
      ['/openai/v1/chat/completions', 'gpt-5']
    ]
  )
})
