/** Partners on Vertex AI: Mistral by its own API, in its dialect; others by the OpenAI-compatible endpoint. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'

const HI = [{ role: 'user', content: 'Hi' }]
const PLACE = '/v1/projects/p/locations/europe-west4'

test('models of Mistral are asked at rawPredict, in the dialect of Mistral', async (t) => {
  const models = await provider(t)
  models.instead = (request, response) => {
    models.answer({ ...request, path: '/v1/chat/completions' }, response)
    return true
  }
  const vertexai = { projectId: 'p', region: 'europe-west4' }
  const policies = { auth: { key: 'k' } }
  const routes = { '/messages': 'Messages', '*': 'Completions' }
  const { ask } = await gateway(t, { provider: at('vertexai', models, { vertexai, policies }), routes })
  const body = { messages: [{ role: 'developer', content: 'Be' }, ...HI], max_completion_tokens: 5, store: true }
  const own = await ask('/v1/chat/completions', { model: 'mistralai/mistral-medium-3', ...body })
  deepEqual([own.status, own.headers.get('x-weir-dropped')], [200, 'store'])
  equal((await ask('/v1/messages', { model: 'codestral-2', max_tokens: 5, messages: HI, stream: true })).status, 200)
  equal((await ask('/v1/chat/completions', { model: 'meta/llama-4', ...body })).status, 200)
  const [first, second, third] = models.requests
  equal(first!.path, `${PLACE}/publishers/mistralai/models/mistral-medium-3:rawPredict`)
  const messages = [{ role: 'system', content: 'Be' }, ...HI]
  deepEqual(first!.body, { model: 'mistral-medium-3', messages, max_tokens: 5 })
  equal(second!.path, `${PLACE}/publishers/mistralai/models/codestral-2:streamRawPredict`)
  deepEqual([second!.body.model, second!.body.max_tokens, second!.body.stream_options], ['codestral-2', 5, undefined])
  equal(third!.path, `${PLACE}/endpoints/openapi/chat/completions`)
  deepEqual([third!.body.model, third!.body.store], ['meta/llama-4', true])
})
