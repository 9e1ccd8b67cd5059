/** Records of calls as a whole gateway makes them: refusals, guards, kept answers, attempts that cost money. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { startModels } from '#engine/testing/models.ts'
import { ANSWER, answerWith, chat, choice, one, params, pick, stand } from './calls.fixture.ts'

test('the model as the client has named it, as it was sent, and as it was answered', async (t) => {
  const llm = (port: number) => ({
    models: [{ name: 'fast', provider: 'openai', params: { ...params(port), model: 'm-1' } }]
  })
  const { ask, ended } = await stand(t, llm)
  equal(await ask(chat('Hi', 'fast')), 200)
  const { records } = await ended()
  deepEqual(pick(records, 'clientModel', 'requestModel', 'model', 'cost'), [['fast', 'm-1', 'm-2', '0.00011']])
})

test('an answer that was kept costs nothing, and says why; misses are told from what was not looked for', async (t) => {
  const { ask, ended } = await stand(t, (port) => ({ ...one()(port), cache: { ttl: '60s' } }))
  for (const headers of [{}, {}, { 'cache-control': 'no-store' }]) equal(await ask(chat(), headers), 200)
  const { records } = await ended()
  deepEqual(pick(records, 'cache', 'cost', 'costBasis', 'clientModel', 'model'), [
    ['miss', '0.00011', 'usage', 'm', 'm-2'],
    ['hit', '0', 'cache', 'm', 'm-2'],
    ['bypass', '0.00011', 'usage', 'm', 'm-2']
  ])
})

test('calls that are refused ahead of a provider: one record each, with the reason and without cost', async (t) => {
  const key = (name: string, more: object) => ({ name, key: `sk-${name}-0001`, ...more })
  const keys = [
    key('models', { models: ['other'] }),
    key('poor', { budgets: [{ amount: 0.000001, period: 'Day' }] }),
    key('often', { limits: [{ requests: 1, unit: 'Hours' }] })
  ]
  const { ask, ended, models } = await stand(t, one(), { keys })
  const as = (name: string) => ({ authorization: `Bearer sk-${name}-0001` })
  equal(await ask(chat(), as('models')), 403)
  equal(await ask(chat(), as('poor')), 200)
  equal(await ask(chat(), as('poor')), 429)
  equal(await ask(chat(), as('often')), 200)
  equal(await ask(chat(), as('often')), 429)
  equal(await ask(chat(), as('nobody')), 401)
  equal(await ask(chat()), 401)
  const { records } = await ended()
  equal(models.requests.length, 2)
  const names = ['key', 'status', 'errorType', 'clientModel', 'provider', 'cost', 'costBasis']
  deepEqual(pick(records, ...names), [
    ['models', 403, 'MODEL_NOT_ALLOWED', 'm', null, '0', 'none'],
    ['poor', 200, null, 'm', 'openai', '0.00011', 'usage'],
    ['poor', 429, 'BUDGET_EXCEEDED', 'm', 'openai', '0', 'none'],
    ['often', 200, null, 'm', 'openai', '0.00011', 'usage'],
    ['often', 429, 'RATE_LIMITED', null, null, '0', 'none']
  ])
  match(String(records[2]!.detail), /the budget of key poor/)
})

const regex = (action: string, pattern: string) => ({ regex: { action, matches: [pattern] } })

test('what guards have done, of whole answers and of streams; nothing of what they have found', async (t) => {
  const promptGuard = {
    request: [regex('Mask', 'secret-\\d+'), regex('Reject', 'bomb')],
    response: [regex('Mask', 'never'), regex('Mask', 'Hel+o')]
  }
  const { ask, ended, models } = await stand(t, one({ promptGuard }))
  equal(await ask(chat('a secret-12')), 200)
  equal(await ask(chat('a bomb')), 403)
  answerWith(models, choice('Bye'))
  equal(await ask(chat()), 200)
  models.instead = (_, response) => {
    const event = { ...ANSWER, usage: null, choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`)
    return true
  }
  equal(await ask({ ...chat(), stream: true }), 200)
  const { records } = await ended()
  deepEqual(pick(records, 'status', 'guards', 'clientModel', 'cost'), [
    [
      200,
      [
        { guard: 'request[0]', action: 'mask' },
        { guard: 'response[1]', action: 'mask' }
      ],
      'm',
      '0.00011'
    ],
    [403, [{ guard: 'request[1]', action: 'reject' }], 'm', '0'],
    [200, [], 'm', '0.00011'],
    [200, [{ guard: 'response[1]', action: 'mask' }], 'm', records[3]!.cost]
  ])
  equal(JSON.stringify(records).includes('secret'), false)
})

test('an attempt that was paid and thrown away is in the cost, and in the metrics of its own provider', async (t) => {
  const other = await startModels()
  t.after(() => other.close())
  const llm = (port: number) => ({
    models: [
      { name: 'a', provider: 'openai', params: { ...params(other.port), model: 'm-a' } },
      { name: 'b', provider: 'openai', params: { ...params(port), model: 'm-b' } }
    ],
    virtualModels: [
      {
        ...{ name: 'v', routing: { failover: { targets: [{ model: 'a' }] } } },
        fallbacks: [{ on: ['content_policy'], models: ['b'] }]
      }
    ]
  })
  const { ask, ended } = await stand(t, llm)
  answerWith(other, {
    ...choice('', 'content_filter'),
    model: 'm-a',
    usage: { ...ANSWER.usage, prompt_tokens: 50, total_tokens: 60 }
  })
  equal(await ask(chat('Hi', 'v')), 200)
  const { records, metrics } = await ended()
  // 60 of the first, 110 of the second.
  deepEqual(pick(records, 'cost', 'costBasis', 'model', 'clientModel', 'retries'), [
    ['0.00017', 'usage', 'm-2', 'v', 1]
  ])
  match(metrics, /weir_llm_cost_total\{[^}]*gen_ai_request_model="m-a"[^}]*\} 0\.00006/)
  match(metrics, /weir_llm_cost_total\{[^}]*gen_ai_request_model="m-b"[^}]*\} 0\.00011/)
})
