/** Copies of calls for another model: measured, thrown away, and no matter to the call that they copy. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answers, at, gateway, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const CHAT = '/v1/chat/completions'
const ask = (content = 'Hi') => ({ model: 'v', messages: [{ role: 'user', content }] })

/** Resolves when `models` has got its `count`-th request, which `answer` answers then. */
function arrival(models: Models, count = 1): Promise<void> {
  const { instead } = models
  return new Promise((resolve) => {
    models.instead = (request, response) => {
      if (models.requests.length >= count) resolve()
      return instead?.(request, response) ?? false
    }
  })
}

/** Model a, whose calls are copied to b. */
async function copied(t: TestContext, more: object = {}, model: object = {}) {
  const [a, b] = await Promise.all([provider(t), provider(t)])
  const params = ({ port }: Models, apiKey: string) => ({ baseUrl: `http://127.0.0.1:${port}`, apiKey })
  const models = [
    { name: 'a', provider: 'openai', params: params(a, 'key-a') },
    { name: 'b', provider: 'anthropic', params: params(b, 'key-b'), ...model }
  ]
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const virtualModels = [{ name: 'v', routing, shadow: { model: 'b', percent: 100 } }]
  return { a, b, file: { llm: { port: 4000, models, virtualModels, ...more } } }
}

test('a copy is what the client asks, as guards leave it, for the other model, with the key of that', async (t) => {
  const promptGuard = { request: [{ regex: { matches: ['s3cret'], action: 'Mask' } }] }
  const { a, b, file } = await copied(t, { promptGuard })
  const arrived = arrival(b)
  const { ask: send } = await gatewayOf(t, file)
  const answer = await send(CHAT, ask('my s3cret'), { authorization: 'Bearer mine', cookie: 'session=1' })
  equal(answer.status, 200)
  match(await answer.text(), /chat\.completion/)
  await arrived
  const [copy] = b.requests
  equal(copy!.path, '/v1/messages')
  equal(copy!.headers['x-api-key'], 'key-b')
  deepEqual([copy!.headers.cookie, copy!.headers.authorization], [undefined, undefined])
  equal(copy!.bytes.includes('s3cret'), false)
  equal(copy!.body.model, 'b')
  equal(a.requests.length, 1)
})

test('a copy without an answer, and ones that fail, cost the call nothing; more than 64 are not sent', async (t) => {
  const { a, b, file } = await copied(t)
  b.instead = () => true
  const { ask: send, metrics } = await gatewayOf(t, file)
  for (let i = 0; i < 66; i++) equal((await send(CHAT, ask())).status, 200)
  equal(a.requests.length, 66)
  match(await metrics(), /weir_llm_side_calls_dropped_total\{route="[^"]*",purpose="shadow"\} 2/)
  const failing = await copied(t)
  answers(failing.b, '/messages', () => ({ error: { type: 'api_error', message: 'broken' } }), 500)
  const arrived = arrival(failing.b, 3)
  const { ask: again } = await gatewayOf(t, failing.file)
  for (let i = 0; i < 3; i++) equal((await again(CHAT, { ...ask(), stream: true })).status, 200)
  await arrived
})

test('what a copy costs is recorded beside the call, and not for its key', async (t) => {
  const { file } = await copied(t, { prices: [{ input: 1, output: 1 }] })
  const receiver = await provider(t)
  const records: Array<Record<string, unknown>> = []
  const both = new Promise<void>((resolve) => {
    receiver.instead = ({ body }, response) => {
      records.push(...(body as unknown as { records: Array<Record<string, unknown>> }).records)
      response.writeHead(200).end()
      if (records.length === 2) resolve()
      return true
    }
  })
  const { ask: send, metrics } = await gatewayOf(t, {
    ...file,
    keys: [{ name: 'alice', key: 'sk-alice-0123456789abcdef' }],
    frontendPolicies: { spendWebhook: { host: `127.0.0.1:${receiver.port}`, scheduleDelay: '10ms' } }
  })
  const headers = { authorization: 'Bearer sk-alice-0123456789abcdef' }
  equal((await send(CHAT, ask(), headers)).status, 200)
  await both
  const of = (purpose: string | null) => records.find((record) => record.purpose === purpose)!
  deepEqual([of(null).keyName, of('shadow').keyName], ['alice', null])
  deepEqual([of(null).provider, of('shadow').provider], ['openai', 'anthropic'])
  equal(of('shadow').id, of(null).id)
  match(String(of('shadow').cost), /^0\.0*[1-9]/)
  const exposed = await metrics()
  match(exposed, /weir_llm_side_call_tokens_total\{[^}]*purpose="shadow"[^}]*_type="output"[^}]*\} [1-9]/)
  match(exposed, /weir_llm_side_call_cost_total\{[^}]*purpose="shadow"[^}]*\} [0-9]*[.e-]/)
  match(exposed, /weir_llm_side_call_duration_seconds_count\{[^}]*error_type=""[^}]*\} 1/)
})

test('a provider of groups gets copies, too; names that nothing has are refused with their place', async (t) => {
  const [a, b] = await Promise.all([provider(t), provider(t)])
  const groups = [a, b].map((models, i) => ({ providers: [{ name: `p${i}`, ...at('openai', models) }] }))
  const arrived = arrival(b)
  const { ask: send } = await gateway(t, { groups, shadow: { provider: 'p1', percent: 100 } })
  equal((await send(CHAT, ask())).status, 200)
  await arrived
  await rejects(
    gateway(t, { groups, shadow: { provider: 'p2', percent: 1 } }),
    /shadow\.provider: there is no provider "p2"/
  )
  const { file } = await copied(t)
  const virtualModels = [{ ...file.llm.virtualModels[0], shadow: { model: 'c', percent: 1 } }]
  await rejects(
    gatewayOf(t, { llm: { ...file.llm, virtualModels } }),
    /shadow\.model: no model of llm\.models serves "c"/
  )
})
