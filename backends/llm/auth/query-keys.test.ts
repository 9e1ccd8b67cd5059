/** A key that a client shows in a query reaches no provider: every name, every way to write it, every format. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { keyInQuery, withoutCredentials } from './query-keys.ts'

const NAMES = [
  ...['key', 'api_key', 'apikey', 'api-key', 'apiKey', 'x-api-key', 'x-goog-api-key', 'subscription-key'],
  ...['token', 'access_token', 'auth_token', 'id_token', 'oauth_token', 'bearer_token', 'jwt', 'authorization'],
  ...['client_secret', 'password', 'X-Amz-Security-Token', 'X-Amz-Signature', 'X-Amz-Credential']
]
const WAYS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `$${name}`,
  (name) => `${name}[]`,
  (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => name.replaceAll(/[-_]/g, '%5F')
]

test('every name of a credential is found, however it is written, and nothing else is', () => {
  for (const name of NAMES) {
    for (const way of WAYS) {
      const written = way(name)
      for (const query of [`?${written}=c`, `?a=1&${written}=c&b=`, `?a=1;${written}=c&b=`, `?${written}`]) {
        const rest = withoutCredentials(query)
        ok(['', '?a=1&b='].includes(rest), `${query} -> ${rest}`)
      }
    }
  }
  const stays = '?alt=sse&pageToken=t&page_token=t&max_tokens=1&monkey=k&keys=1&keyword=x&a=1;b=2&%zz=1&&limit=20'
  equal(withoutCredentials(stays), stays)
})

test('the first key is what a provider is shown, where it is shown the key of the client', () => {
  const cases: [string, string | null][] = [
    ['', null],
    ['?a=1', null],
    ['?key', null],
    ['?a=1&API_KEY=sk%2D1&key=2', 'sk-1'],
    ['?a=1;token=t', 't'],
    ['?client_secret=s&password=p', null],
    ['?key=a%0d%0ax', null]
  ]
  for (const [query, key] of cases) deepEqual(keyInQuery(query), key, query)
})

const CHAT = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
const PATHS: readonly (readonly [path: string, body: object | undefined])[] = [
  ['/v1/chat/completions', CHAT],
  ['/v1/messages', CHAT],
  ['/v1/responses', { model: 'm', input: 'Hi' }],
  ['/v1beta/models/m:generateContent', CONTENTS],
  ['/v1beta/models/m:streamGenerateContent', CONTENTS],
  ['/v1beta/models/m:countTokens', CONTENTS],
  ['/v1/messages/count_tokens', CHAT],
  ['/v1/embeddings', { model: 'm', input: 'Hi' }],
  ['/v1/models', undefined],
  ['/raw', { a: 1 }]
]
const ROUTES = {
  '/messages': 'Messages',
  '/responses': 'Responses',
  ':generateContent': 'GenerateContent',
  ':streamGenerateContent': 'GenerateContent',
  ':countTokens': 'GeminiTokenCount',
  '/count_tokens': 'AnthropicTokenCount',
  '/embeddings': 'Embeddings',
  '/models': 'Models',
  '/raw': 'Passthrough',
  '/realtime': 'Realtime',
  '*': 'Completions'
}
const KEY = { policies: { auth: { key: 'of-the-gateway' } } }
const QUERY = `?${[...new Set(NAMES.flatMap((name) => WAYS.map((way) => `${way(name)}=canary`)))].join('&')}&harmless=1`

for (const kind of ['openai', 'anthropic', 'gemini', 'custom'] as const) {
  test(`a provider is shown no key of a query, in any format: ${kind}`, async (t) => {
    const models = await provider(t)
    const { ask } = await gateway(t, { provider: at(kind, models, KEY), routes: ROUTES })
    let sentCount = 0
    for (const [path, body] of PATHS) {
      const before = models.requests.length
      // The client has shown the gateway who it is in another place.
      await ask(`${path}${QUERY}`, body, { authorization: 'Bearer canary' })
      const sent = models.requests.slice(before)
      sentCount += sent.length
      for (const one of sent) {
        equal(`${one.path} ${JSON.stringify(one.headers)}`.includes('canary'), false, `${path}: ${one.path}`)
        if (path === '/raw') ok(one.path.endsWith('/raw?harmless=1'), one.path)
      }
    }
    ok(sentCount > PATHS.length / 2)
  })
}

test('nor by the realtime API, whose pages show keys among the protocols', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const upgrades: string[] = []
  server.on('upgrade', ({ url, headers }, socket) => {
    upgrades.push(`${url} ${JSON.stringify(headers)}`)
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
  })
  const openai = { openai: {}, host: '127.0.0.1', port, ...KEY }
  const { base } = await gateway(t, { provider: openai, routes: ROUTES })
  const protocols = ['realtime', 'OpenAI-Insecure-API-Key.canary']
  const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/realtime${QUERY}&model=live`, protocols)
  await once(socket, 'unexpected-response')
  deepEqual(
    upgrades.map((text) => [text.startsWith('/v1/realtime?harmless=1&model=live '), text.includes('canary')]),
    [[true, false]]
  )
})
