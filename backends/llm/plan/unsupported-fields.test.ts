/** Several providers, not all of which can be told a request: who is asked. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { answers, at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'

const ROUTES = { '/embeddings': 'Embeddings', '*': 'Completions' }
const CHAT = '/v1/chat/completions'
/** Anthropic's format has no penalties. */
const PENALIZED = { model: 'm1', frequency_penalty: 0.5, messages: [{ role: 'user', content: 'Hi' }] }
const EMBED = { model: 'm1', input: 'Hi' }
const named = (kind: string, models: Parameters<typeof at>[1]) => ({ name: kind, ...at(kind, models) })

test('of equal providers one is asked whose format can say the request', async (t) => {
  const models = await provider(t)
  answers(models, '/embeddings', () => ({ object: 'list', data: [], usage: { prompt_tokens: 1, total_tokens: 1 } }))
  const groups = [{ providers: [named('openai', models), named('anthropic', models), named('custom', models)] }]
  const { ask } = await gateway(t, { groups, routes: ROUTES })
  for (let i = 0; i < 20; i++) {
    const embedded = await ask('/v1/embeddings', EMBED)
    deepEqual([(await ask(CHAT, PENALIZED)).status, embedded.status], [200, 200])
  }
  deepEqual([...new Set(models.requests.map(({ path }) => path))].sort(), [CHAT, '/v1/embeddings'])
  for (const { headers, path, body } of models.requests) {
    equal(headers['anthropic-version'], undefined)
    if (path === CHAT) deepEqual(body, PENALIZED)
  }
})

test('a first provider whose format cannot say the request does not leave it to those behind', async (t) => {
  const models = await provider(t)
  const groups = [{ providers: [named('anthropic', models)] }, { providers: [named('openai', models)] }]
  const { ask } = await gateway(t, { groups, routes: ROUTES })
  for (const [path, body, why] of [
    [CHAT, PENALIZED, /^frequency_penalty: cannot be carried to anthropic/],
    ['/v1/embeddings', EMBED, /^anthropic has no embeddings/]
  ] as const) {
    const refused = await ask(path, body)
    const { error } = (await refused.json()) as { error: { message: string } }
    equal(refused.status, 400)
    match(error.message, why)
  }
  equal(models.requests.length, 0)
})

test('when one has failed, providers whose format cannot say the request are left out', async (t) => {
  const [failing, models] = [await provider(t), await provider(t)]
  failing.instead = (_, response) => {
    response.writeHead(503).end('{}')
    return true
  }
  const before = [{ providers: [named('openai', failing)] }, { providers: [named('anthropic', models)] }]
  const last = { providers: [named('custom', models)] }
  const { ask } = await gateway(t, { groups: [...before, last], routes: ROUTES })
  equal((await ask(CHAT, PENALIZED)).status, 200)
  deepEqual([failing.requests.length, models.requests.length], [1, 1])
  deepEqual([models.requests[0]!.path, models.requests[0]!.body], [CHAT, PENALIZED])
  // Where nobody else is left, the request is not to blame.
  const { ask: short } = await gateway(t, { groups: before, routes: ROUTES })
  equal((await short(CHAT, PENALIZED)).status, 503)
  deepEqual([failing.requests.length, models.requests.length], [2, 1])
})
