/** Providers that send a request elsewhere: a client that followed would go around the gateway, with its credential. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const ROUTES = {
  '/embeddings': 'Embeddings',
  '/count_tokens': 'AnthropicTokenCount',
  ':countTokens': 'GeminiTokenCount',
  '/models': 'Models'
}
const ASKS = [
  ['openai', '/v1/embeddings', { model: 'm', input: 'a' }],
  ['gemini', '/v1/embeddings', { model: 'm', input: 'a' }],
  ['anthropic', '/v1/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'a' }] }],
  ['gemini', '/v1/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'a' }] }],
  ['gemini', '/v1beta/models/m:countTokens', { contents: [{ parts: [{ text: 'a' }] }] }],
  ['openai', '/v1/models', undefined],
  ['anthropic', '/v1/models', undefined]
] as const

test('no client gets the location, whatever it asked', async (t) => {
  const models = await provider(t)
  for (const [kind, path, body] of ASKS) {
    const ai = { provider: at(kind, models), routes: ROUTES }
    const { base } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
    const ask = () =>
      fetch(`${base}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json' },
        redirect: 'manual',
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    for (const status of [301, 302, 303, 307, 308]) {
      for (const content of ['', '{"error":{"message":"over there"}}', ' '.repeat(200_000)]) {
        models.instead = (_, response) => {
          response.writeHead(status, { location: 'https://elsewhere.example/', 'content-type': 'application/json' })
          response.end(content)
          return true
        }
        const got = await ask()
        deepEqual([got.status, got.headers.get('location')], [502, null], `${kind} ${path} ${status} ${content.length}`)
        match(await got.text(), /it sends the request elsewhere/)
      }
    }
  }
})

test('a list of models that the client has already stays as it is', async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(304, { etag: '"x"' }).end()
    return true
  }
  for (const kind of ['openai', 'anthropic']) {
    const ai = { provider: at(kind, models), routes: ROUTES }
    const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
    equal((await ask('/v1/models', undefined, { 'if-none-match': '"x"' })).status, 304)
  }
})
