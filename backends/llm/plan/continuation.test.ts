/** What goes on with a stream that breaks, what does not, and what it costs. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { chunk, data, named, PROVIDERS, pair, TURNS, textOf, WHOLE } from '#backends/llm/stream/continued.fixture.ts'

const CHAT = '/v1/chat/completions'
const ASK = { model: 'm', stream: true, stream_options: { include_usage: true }, messages: TURNS }
const gone = (response: ServerResponse) => void response.socket!.destroySoon()
const ask = async (gateway: Awaited<ReturnType<typeof pair>>, more: object = {}, path = CHAT) =>
  (await gateway.ask(path, { ...ASK, ...more })).text()
const openaiChat = (t: TestContext, more: object = {}) => pair(t, 'openaiChat', PROVIDERS.openaiChat, gone, more)

test('the rest has the id, the model and the index of the first, and a comment stands where it begins', async (t) => {
  const stream = await ask(await openaiChat(t))
  match(stream, /\n: another provider goes on\n\n/)
  const chunks = [...stream.matchAll(/^data: (\{.*)$/gm)].map(
    ([, text]) => JSON.parse(text!) as Record<string, unknown>
  )
  deepEqual([...new Set(chunks.map(({ id }) => id))], ['c1'])
  equal(textOf('completions', stream), WHOLE)
  const [, ...after] = stream.split(': another provider goes on')
  ok(!after.join('').includes('"role"'))
})

test('the provider that goes on gets what was said, marked as its beginning, and the room that is left', async (t) => {
  const gateway = await openaiChat(t)
  await ask(gateway, { max_tokens: 50, reasoning_effort: 'low' })
  const { body } = gateway.second.requests[0]!
  deepEqual(body.messages, [...TURNS, { role: 'assistant', content: 'The sky is' }])
  deepEqual([body.continue_final_message, body.add_generation_prompt, body.reasoning_effort], [true, false, undefined])
  equal(body.max_tokens, 48)
})

const tool = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":' } }
for (const [what, events, request] of [
  ['an open call of a tool', [...PROVIDERS.openaiChat, chunk({ tool_calls: [tool] })], {}],
  ['open thoughts', [chunk({ role: 'assistant', reasoning_content: 'Hm' })], {}],
  ['an answer in a form of its own', PROVIDERS.openaiChat, { response_format: { type: 'json_object' } }],
  ['as many tokens as were asked for', PROVIDERS.openaiChat, { max_tokens: 2 }],
  [
    'the beginning of an answer by the client',
    PROVIDERS.openaiChat,
    { messages: [...TURNS, { role: 'assistant', content: 'A' }] }
  ]
] as const) {
  test(`${what}: nobody goes on, and the client gets an error`, async (t) => {
    const gateway = await pair(t, 'openaiChat', events, gone)
    const stream = await ask(gateway, request)
    match(stream, /"error":\{[^\n]*"message":/)
    equal(gateway.second.requests.length, 0)
  })
}

test('thoughts that have ended are no obstacle, and are not counted to the one that goes on', async (t) => {
  const events = [chunk({ role: 'assistant', reasoning_content: 'Hm' }), chunk({ content: 'The sky' })]
  const gateway = await pair(t, 'openaiChat', events, gone)
  match(await ask(gateway), /\[DONE\]/)
  ok(!gateway.second.requests[0]!.bytes.includes('Hm'))
})

test('an answer that lacks its end alone gets it: nobody is asked', async (t) => {
  const gateway = await pair(t, 'openaiChat', [...PROVIDERS.openaiChat, chunk({}, 'stop')], (r) => void r.destroy())
  const stream = await ask(gateway)
  match(stream, /\[DONE\]/)
  ok(!stream.includes('"error"'))
  equal(gateway.second.requests.length, 0)
})

test('a provider that goes on and breaks off too: the client gets an error, as often as the bound says', async (t) => {
  const gateway = await openaiChat(t)
  gateway.second.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ content: 'blue' }), () => gone(response))
    return true
  }
  const stream = await ask(gateway)
  match(stream, /The sky[\s\S]*blue[\s\S]*"error"/)
  equal(gateway.second.requests.length, 1)
})

test('a provider that refuses to go on: an error', async (t) => {
  const gateway = await openaiChat(t)
  gateway.second.instead = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
    return true
  }
  match(await ask(gateway), /The sky[\s\S]*"error"/)
})

test('a budget for further attempts that is spent: an error', async (t) => {
  const gateway = await openaiChat(t, { failover: { retryBudget: { percent: 0, minPerSecond: 0 } } })
  match(await ask(gateway), /"error"/)
  equal(gateway.second.requests.length, 0)
})

test('without the setting a stream that breaks ends so', async (t) => {
  const gateway = await openaiChat(t, { streams: { stall: '10m' } })
  match(await ask(gateway), /"error"/)
  equal(gateway.second.requests.length, 0)
})

test('silence beyond its limit breaks a stream as well', async (t) => {
  const streams = { continue: 1, stall: '50ms' }
  const gateway = await pair(t, 'openaiChat', PROVIDERS.openaiChat, () => {}, { streams })
  equal(textOf('completions', await ask(gateway)), WHOLE)
})

test('a word that guards look for is found over the seam', async (t) => {
  const promptGuard = { response: [{ regex: { action: 'Mask', matches: ['is blue'] } }] }
  const gateway = await openaiChat(t, { promptGuard })
  const text = textOf('completions', await ask(gateway))
  ok(text.startsWith('The sky ') && !text.includes('is blue') && text.endsWith(' today.'), text)
})

test('a client that leaves ends the call of the one that goes on', async (t) => {
  const gateway = await openaiChat(t)
  const ended = new Promise<void>((resolve) => {
    gateway.second.instead = (_, response) => {
      response.on('close', resolve)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ content: 'blue' }))
      return true
    }
  })
  const leaving = new AbortController()
  const response = await fetch(`${gateway.base}${CHAT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ASK),
    signal: leaving.signal
  })
  const reader = response.body!.getReader()
  let text = ''
  while (!text.includes('blue')) text += Buffer.from((await reader.read()).value ?? []).toString()
  leaving.abort()
  await ended
})

test('models of Claude go on as long as they take a beginning', async (t) => {
  for (const [model, count] of [
    ['claude-sonnet-4-5', 1],
    ['claude-opus-4-6', 0]
  ] as const) {
    const gateway = await openaiChat(t, {})
    const at = (port: number) => ({ host: '127.0.0.1', port, apiKey: 'k' })
    gateway.second.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const message = {
        id: 'b',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        usage: { input_tokens: 3, output_tokens: 1 }
      }
      response.end(
        named({ type: 'message_start', message }) +
          named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
          named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' blue today.' } }) +
          named({ type: 'content_block_stop', index: 0 }) +
          named({
            type: 'message_delta',
            delta: { stop_reason: 'end_turn', stop_sequence: null },
            usage: { output_tokens: 4 }
          }) +
          named({ type: 'message_stop' })
      )
      return true
    }
    const models = [
      { name: 'one', provider: { custom: {} }, params: at(gateway.first.port) },
      { name: 'two', provider: 'anthropic', params: { ...at(gateway.second.port), model } }
    ]
    const routing = {
      failover: {
        targets: [
          { model: 'one', priority: 0 },
          { model: 'two', priority: 1 }
        ]
      }
    }
    await gateway.reload(
      JSON.stringify({
        config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
        llm: { port: 4000, models, virtualModels: [{ name: 'm', routing }], streams: { continue: 1 } }
      })
    )
    const stream = await ask(gateway)
    equal(gateway.second.requests.length, count)
    if (count === 1) equal(textOf('completions', stream), WHOLE)
    else match(stream, /"error"/)
  }
})

test('one record has both: tokens of the one that went on, and the cost of each', async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
  const counted = data({ id: 'c1', model: 'm1', choices: [], usage })
  const prices = [{ input: 1, output: 1 }]
  const gateway = await pair(t, 'openaiChat', [...PROVIDERS.openaiChat, counted], gone, { prices })
  match(await ask(gateway), /"usage":\{[^\n]*"prompt_tokens":19,"completion_tokens":6/)
  const costOf = (model: string) =>
    new RegExp(`^weir_llm_cost_total\\{[^}]*gen_ai_request_model="${model}"[^}]*\\} (\\S+)$`, 'm').exec(
      gateway.metrics()
    )?.[1]
  deepEqual([costOf('one'), costOf('two')], ['0.000012', '0.000013'])
})
