/** Secrets that look like any word, and requests that are an attack. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { StoryWriter } from '#engine/story/story-writer.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { explainer } from '#engine/testing/explain.ts'
import { show } from './show.ts'

/** No look of a key gives them away. */
const SECRET = 'canary'

const SHA = createHash('sha1').update(SECRET).digest('base64')
const API_KEY = 'request.headers["x-api-key"]'

/** Policies of a route, or of its backend, each with the secret in every place that takes one. */
const POLICIES: Readonly<Record<string, object>> = {
  apiKey: { apiKey: { mode: 'optional', keys: [{ key: SECRET, metadata: { token: SECRET } }] } },
  basic: { basicAuthentication: { mode: 'optional', htpasswd: `ann:{SHA}${SHA}` } },
  authorization: {
    authorization: {
      rules: [
        { deny: `${API_KEY} == "${SECRET}"` },
        `${API_KEY} in ["a", "${SECRET}"]`,
        `"${SECRET}" == request.headers["authorization"]`,
        `request.headers["cookie"].startsWith("${SECRET}")`,
        `{"${SECRET}": true}[${API_KEY}]`,
        `apiKey.key == "${SECRET}"`,
        `request.headers["authorization"] == "Bearer ${SECRET}"`
      ]
    }
  },
  transformation: {
    transformations: {
      request: {
        set: [
          { name: 'x-api-key', value: `"${SECRET}"` },
          { name: 'authorization', value: `"Bearer ${SECRET}"` },
          { name: 'x-token', value: `"${SECRET}-" + request.host` }
        ]
      }
    }
  },
  headerModifiers: {
    requestHeaderModifier: { set: { authorization: `Basic ${SECRET}`, 'x-auth-token': SECRET, cookie: `a=${SECRET}` } }
  },
  extAuth: {
    extAuth: {
      backendRef: { name: 'plain' },
      http: { path: `"/check?key=${SECRET}"`, addRequestHeaders: { 'x-secret': `"${SECRET}"` } }
    }
  },
  rateLimit: {
    rateLimit: {
      local: ['x-api-key', 'authorization', 'cookie'].map((name) => ({
        ...{ requests: 5, unit: 'Minutes', key: `request.headers["${name}"]` }
      })),
      global: {
        domain: 'd',
        backendRef: { name: 'plain' },
        descriptors: [{ entries: [{ name: 'k', expression: `"${SECRET}"` }] }]
      }
    }
  },
  redirect: { requestRedirect: { hostname: 'b.test' } },
  jwt: {
    jwtAuthentication: {
      ...{ mode: 'permissive', issuer: 'me', audiences: ['a'] },
      jwks: { url: `https://idp.example/keys?token=${SECRET}` }
    }
  }
}

const location = { header: { name: 'x-who', prefix: '' } }
const BACKENDS: readonly object[] = [
  { name: 'plain', host: '10.0.0.1:80', policies: { auth: { key: SECRET, location } } },
  { name: 'bearer', host: '10.0.0.1:80', policies: { auth: { key: SECRET } } },
  { name: 'sref', host: '10.0.0.1:80', policies: { auth: { secretRef: { name: 's' } } } },
  { name: 'ai', ai: { provider: { openai: { model: 'm' } } }, policies: { auth: { key: SECRET } } },
  { name: 'gemini', ai: { provider: { gemini: { model: 'm' } } }, policies: { auth: { key: SECRET, location } } },
  {
    name: 'mcp',
    mcp: {
      sessionRouting: 'Stateless',
      targets: [
        { name: 'a', mcp: { host: `http://10.0.0.1/mcp?api_key=${SECRET}` }, policies: { auth: { key: SECRET } } }
      ]
    }
  }
]

const nameOf = (backend: object): string => (backend as { name: string }).name
const route = (path: string, more: object) => ({ name: path, matches: [{ path: { pathPrefix: `/${path}` } }], ...more })
const FILE = JSON.stringify({
  secrets: [{ name: 's', entries: { Authorization: SECRET } }],
  backends: BACKENDS,
  binds: [
    {
      port: 8080,
      listeners: [
        {
          routes: [
            ...Object.entries(POLICIES).map(([path, policies]) =>
              route(path, { policies, backends: [{ backend: 'bearer' }] })
            ),
            ...BACKENDS.map((one) =>
              route(`to-${nameOf(one)}`, {
                policies: { urlRewrite: { path: { prefix: '/' } } },
                backends: [{ backend: nameOf(one) }]
              })
            ),
            route('throws', {
              policies: {
                authorization: { rules: ['int(request.headers["x-a"]) / 0 > request.headers["none"].size()'] }
              },
              backends: [{ host: '10.0.0.1:80' }]
            })
          ]
        }
      ]
    }
  ]
})
const explain = explainer(FILE)

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', arguments: {} } })

test('no secret of a policy or a backend, whatever it looks like', async () => {
  const mcp = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const inputs = [
    ...Object.keys(POLICIES).map((path) => ({ url: `http://a.test:8080/${path}` })),
    ...['plain', 'bearer', 'sref'].map((name) => ({ url: `http://a.test:8080/to-${name}` })),
    ...['ai', 'gemini'].map((name) => ({
      ...{ url: `http://a.test:8080/to-${name}/v1/chat/completions`, method: 'POST', body: CHAT }
    })),
    { url: 'http://a.test:8080/to-mcp', method: 'POST', body: CALL, headers: mcp }
  ]
  for (const input of inputs) {
    for (const keys of [{}, { 'x-api-key': SECRET, authorization: `Bearer ${SECRET}`, cookie: `a=${SECRET}` }]) {
      const headers = { ...('headers' in input ? input.headers : {}), ...keys }
      const found = await explain({ ...input, headers })
      const text = JSON.stringify(found) + show(found)
      const at = Math.max(text.indexOf(SECRET), text.indexOf(SHA))
      assert.equal(at, -1, `${input.url}: ${text.slice(at - 100, at + 40)}`)
      assert.notEqual(found.outcome.kind, 'connection', input.url)
    }
  }
  const rules = await explain({ url: 'http://a.test:8080/authorization', headers: { 'x-api-key': 'b' } })
  const { expressions } = rules.policies.find(({ policy }) => policy === 'authorization')!
  // What is compared with it is hidden, and the rule can be recognised.
  assert.ok(expressions[0]!.startsWith(`${API_KEY} == <redacted>; ${API_KEY} is <redacted>`), expressions[0])
})

const BYTES_MAX = 256 * 1024
/** Other than the ends of lines. */
const CONTROL = /[^\n\P{Cc}]/u

test('a hostile host, path, method, fields and expressions that fail: bounded, and no control characters', async () => {
  const url = 'http://a.test:8080/throws'
  const long = 'x'.repeat(60_000)
  const inputs: object[] = [
    { headers: { 'x-a': long } },
    { headers: { 'x-a': 'y'.repeat(20_000) } },
    { headers: { 'x-a': '\u001b]0;title\u0007\u009b31m\u202e' } },
    { headers: Array.from({ length: 1_000 }, (_, i) => [`x-${i}`, 'v'.repeat(1_000)]) },
    { headers: Array.from({ length: 90 }, (_, i) => [`x-${i}`, `\u009b31m${'v'.repeat(200)}`]) },
    { headers: { host: `${'a'.repeat(250)}.test` } },
    { headers: { host: 'a\u001b[31m' } },
    { url: `${url}/${long}` },
    { url: `${url}/\u001b[31m` },
    { url: `${url}/%1b%5b31m?\u202e=%00` },
    { method: 'M'.repeat(60_000) },
    { method: 'POST', body: long },
    { httpVersion: '2-prior-knowledge', headers: { 'x-a': 'y'.repeat(20_000) } },
    { httpVersion: '2-prior-knowledge', headers: { 'x-a': '\u001b[31m' } },
    { httpVersion: '2-prior-knowledge', url: `${url}/\u001b[31m` }
  ]
  for (const input of inputs) {
    const found = await explain({ url, ...input })
    const [json, text] = [JSON.stringify(found), show(found)]
    const label = JSON.stringify(input).slice(0, 80)
    assert.ok(json.length < BYTES_MAX && text.length < BYTES_MAX, `${label}: ${json.length} ${text.length}`)
    assert.doesNotMatch(text, CONTROL, label)
    assert.doesNotMatch(text, /\u202e/, label)
  }
})

test('a body that is shorter than its request says is not waited for', async () => {
  const policies = { transformations: { request: { set: [{ name: 'x-size', value: 'string(size(request.body))' }] } } }
  const routes = [{ policies, backends: [{ host: '10.0.0.1:80' }] }]
  const collecting = explainer(JSON.stringify({ binds: [{ port: 8080, listeners: [{ routes }] }] }))
  const detail = 'the gateway would wait for the rest of the body'
  const framings = [
    { headers: { 'content-length': '1000' }, body: 'x' },
    { headers: { 'content-length': '1000' } },
    { headers: { 'transfer-encoding': 'chunked' }, body: '5\r\nhe' }
  ]
  for (const framing of framings) {
    const { outcome } = await collecting({ method: 'POST', url: 'http://a.test:8080/', ...framing })
    assert.deepEqual(outcome, { kind: 'undecided', detail })
  }
  const whole = { method: 'POST', url: 'http://a.test:8080/', body: 'x'.repeat(1_000_000) }
  for (const httpVersion of ['1.1', '2-prior-knowledge']) {
    assert.equal((await collecting({ ...whole, httpVersion })).outcome.kind, 'upstream')
  }
})

test('a story shows no literal that is compared with a secret', () => {
  const ex = fakeExchange({ headers: [['x-api-key', 'b']] })
  const writer = new StoryWriter(ex, '1')
  const expressions = () => [`${API_KEY} == "${SECRET}"`, `"${SECRET}"`, `"${SECRET}" + request.path`]
  void writer.hook({ name: 'a', expressions }, 'request', () => 0)
  assert.doesNotMatch(JSON.stringify(writer.end()), new RegExp(SECRET))
})
