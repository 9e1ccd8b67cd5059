/** What happens while tokens, guards or bodies are waited for ahead of a provider; and what retries make of it. */
import { deepEqual, equal } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as listen } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ASK, CHAT, environment, gateway, models, there } from '#engine/testing/llm.ts'

/** A server whose answers are held until the test gives them: `next` is the oldest. */
async function holding(t: TestContext) {
  const held: ServerResponse[] = []
  let wanted: ((response: ServerResponse) => void) | null = null
  const server = createServer((incoming, response) => {
    incoming.resume()
    if (wanted === null) held.push(response)
    else {
      const give = wanted
      wanted = null
      give(response)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const next = () =>
    new Promise<ServerResponse>((resolve) => {
      const first = held.shift()
      if (first === undefined) wanted = resolve
      else resolve(first)
    })
  return { port: (server.address() as AddressInfo).port, held, next }
}

function vertexAt(port: number) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const inline = JSON.stringify({
    type: 'service_account',
    client_email: 'me@p',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `http://127.0.0.1:${port}/`
  })
  return { vertexai: { projectId: 'p', region: 'global' }, policies: { auth: { gcp: { credential: { inline } } } } }
}

const TOKEN = '{"access_token":"ya29.canary","expires_in":3600}'
const KEYS = '{"AccessKeyId":"AKIA","SecretAccessKey":"s","Token":"t","Expiration":"2999-01-01T00:00:00Z"}'
const PASS = '{"action":{}}'

/** An attempt has been given up. */
async function retried(metrics: () => string) {
  const one = /^weir_upstream_retries_total(?:\{[^\n]*)? 1$/m
  while (!one.test(metrics())) await new Promise((resolve) => setImmediate(resolve))
}

test('a token that comes when its attempt is over is not sent', async (t) => {
  const mock = await models(t)
  const [google, aws] = [await holding(t), await holding(t)]
  environment(t, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${aws.port}/`,
    // A busy machine may take longer than a second.
    AWS_METADATA_SERVICE_TIMEOUT: '60',
    AWS_SHARED_CREDENTIALS_FILE: '/no',
    AWS_CONFIG_FILE: '/no'
  })
  const groups = [
    { providers: [{ name: 'a', ...vertexAt(google.port), ...there(mock) }] },
    { providers: [{ name: 'b', bedrock: {}, ...there(mock), policies: { auth: { aws: {} } } }] }
  ]
  const policies = { timeouts: { backendRequest: '300ms' }, retry: { attempts: 1, codes: [504], backoff: '0s' } }
  const { ask } = await gateway(t, { groups }, policies)
  const asking = ask(CHAT, ASK)
  const [token, keys] = [await google.next(), await aws.next()]
  token.end(TOKEN)
  keys.end(KEYS)
  equal((await asking).status, 200)
  const { path, headers } = mock.requests.at(-1)!
  equal(path.startsWith('/model/'), true, path)
  equal(/canary/.test(JSON.stringify(headers)), false, JSON.stringify(headers))
})

test('a token that comes in the pause ahead of the next attempt sends nothing', async (t) => {
  const mock = await models(t)
  const google = await holding(t)
  const policies = {
    timeouts: { backendRequest: '50ms', request: '400ms' },
    retry: { attempts: 1, codes: [504], backoff: '1h' }
  }
  const { ask, metrics } = await gateway(t, { provider: { ...vertexAt(google.port), ...there(mock) } }, policies)
  const asking = ask(CHAT, ASK)
  const token = await google.next()
  await retried(metrics)
  token.end(TOKEN)
  equal((await asking).status, 504)
  equal(mock.requests.length, 0)
})

const RETRIES = { timeouts: { backendRequest: '200ms' }, retry: { attempts: 3, codes: [504], backoff: '0s' } }

test('a retry while a guard is asked asks it nothing again, and sends one request', async (t) => {
  const mock = await models(t)
  const guard = await holding(t)
  const promptGuard = { request: [{ webhook: { backend: { host: `127.0.0.1:${guard.port}` } } }] }
  const pauses = { ...RETRIES, retry: { ...RETRIES.retry, backoff: '25ms' } }
  for (const policies of [RETRIES, pauses]) {
    const ai = { provider: { openai: {}, ...there(mock) }, promptGuard }
    const { ask, metrics } = await gateway(t, ai, policies)
    const asking = ask(CHAT, ASK)
    const first = await guard.next()
    await retried(metrics)
    first.end(PASS)
    equal((await asking).status, 200)
    // It has been asked as often as there were requests.
    const again = ask(CHAT, ASK)
    ;(await guard.next()).end(PASS)
    equal((await again).status, 200)
  }
  equal(guard.held.length, 0)
  equal(mock.requests.length, 4)
})

test('a body that arrives during a retry arrives whole', async (t) => {
  const mock = await models(t)
  const { port, metrics } = await gateway(t, { provider: { openai: {}, ...there(mock) } }, RETRIES)
  const body = JSON.stringify(ASK)
  const headers = { 'content-length': body.length }
  const asking = request({ port, host: '127.0.0.1', path: CHAT, method: 'POST', headers })
  asking.write(body.slice(0, 10))
  await retried(metrics)
  asking.end(body.slice(10))
  const [answer] = await once(asking, 'response')
  answer.resume()
  equal(answer.statusCode, 200)
  deepEqual(
    mock.requests.map(({ body: got }) => got),
    [ASK]
  )
})

test('after a provider that refuses connections the next gets the own words of the client', async (t) => {
  const mock = await models(t)
  const closed = listen().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  const groups = [
    { providers: [{ name: 'a', anthropic: { model: 'claude' }, host: '127.0.0.1', port }] },
    { providers: [{ name: 'b', openai: {}, ...there(mock) }] }
  ]
  const { ask } = await gateway(t, { groups, unsupported: 'drop' })
  equal((await ask(CHAT, { ...ASK, odd: 1 })).status, 200)
  deepEqual(
    mock.requests.map(({ body }) => body),
    [{ ...ASK, odd: 1 }]
  )
})
