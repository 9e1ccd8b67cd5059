/** The older completions by OpenAI's own client: where a service has them, and as a chat elsewhere. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { eventsOf, mediaGateway, sends, sendsJson } from '#backends/llm/testing/media-gateway.ts'

const PRICES = [{ input: 1, output: 1 }]
const CLAUDE = { name: 'claude', provider: 'anthropic', params: { model: 'claude-x' }, prices: PRICES }
const GROQ = { name: 'fast', provider: 'groq', params: { model: 'llama' }, prices: PRICES }
const OWN = { name: 'own', params: { model: 'base' }, prices: PRICES }
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }

test('where a service has them they pass, whole and as a stream', async (t) => {
  const { openai, upstream, spent } = await mediaGateway(t, [OWN])
  const choices = [{ text: ' sail', index: 0, logprobs: null, finish_reason: 'stop' }]
  const answer = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'base', choices, usage }
  sendsJson(upstream, answer)
  const body = { model: 'own', prompt: ['Ships', 'Fish'], suffix: '.', echo: true, best_of: 2 }
  deepEqual(await openai.completions.create(body), answer)
  deepEqual([upstream.requests[0]!.path, upstream.requests[0]!.body], ['/v1/completions', { ...body, model: 'base' }])
  equal(spent(), '0.000007')
  sends(upstream, 'text/event-stream', `data: ${JSON.stringify({ ...answer, usage })}\n\ndata: [DONE]\n\n`)
  const texts: string[] = []
  for await (const { choices } of await openai.completions.create({ ...body, stream: true }))
    texts.push(choices[0]!.text)
  deepEqual(texts, [' sail'])
  equal(spent(), '0.000014')
})

test("elsewhere it is a chat: Anthropic's, with echo", async (t) => {
  const { openai, upstream, spent } = await mediaGateway(t, [CLAUDE])
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_sequence: null }
  const counted = { input_tokens: 3, output_tokens: 4 }
  const content = [{ type: 'text', text: ' sail' }]
  sendsJson(upstream, { ...message, content, stop_reason: 'max_tokens', usage: counted })
  const ask = { model: 'claude', prompt: 'Ships', max_tokens: 9, stop: '.', echo: true }
  const made = await openai.completions.create(ask)
  deepEqual(made.choices, [{ text: 'Ships sail', index: 0, logprobs: null, finish_reason: 'length' }] as never)
  deepEqual([made.object, made.model, made.usage?.total_tokens], ['text_completion', 'claude', 7])
  const [seen] = upstream.requests
  equal(seen!.path, '/v1/messages')
  deepEqual(seen!.body.messages, [{ role: 'user', content: 'Ships' }])
  deepEqual([seen!.body.model, seen!.body.max_tokens, seen!.body.stop_sequences], ['claude-x', 9, ['.']])
  equal(spent(), '0.000007')

  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: counted } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' sa' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'il' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: 'message_stop' }
  ]
  sends(upstream, 'text/event-stream', eventsOf(...events))
  const stream = await openai.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } })
  const got: unknown[] = []
  for await (const { choices, usage } of stream)
    got.push([choices[0]?.text, choices[0]?.finish_reason, usage?.total_tokens])
  deepEqual(got, [
    ['Ships sa', null, undefined],
    ['il', null, undefined],
    ['', 'stop', undefined],
    [undefined, undefined, 7]
  ])
  equal(upstream.requests[1]!.body.stream, true)
  equal(spent(), '0.000014')

  sends(upstream, 'text/event-stream', eventsOf(...events.slice(0, 3)))
  const broken = async () => {
    for await (const _ of await openai.completions.create({ ...ask, stream: true })) equal(typeof _.id, 'string')
  }
  await rejects(broken, /ended its answer before it was complete/)
})

test('log probabilities in their older form', async (t) => {
  const { openai, upstream } = await mediaGateway(t, [{ ...GROQ, provider: 'xai' }])
  const top_logprobs = [{ token: ' sail', logprob: -0.1, bytes: null }]
  const content = [
    { token: ' sail', logprob: -0.1, bytes: null, top_logprobs },
    { token: '.', logprob: -0.2, bytes: null, top_logprobs: [] }
  ]
  const message = { role: 'assistant', content: ' sail.' }
  const choices = [{ index: 0, message, logprobs: { content }, finish_reason: 'stop' }]
  sendsJson(upstream, { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'llama', choices, usage })
  const made = await openai.completions.create({ model: 'fast', prompt: ['Ships'], logprobs: 1 })
  deepEqual(made.choices[0]!.logprobs, {
    tokens: [' sail', '.'],
    token_logprobs: [-0.1, -0.2],
    top_logprobs: [{ ' sail': -0.1 }, null],
    text_offset: [0, 5]
  } as never)
  equal(made.id, 'cmpl-1')
  const { body } = upstream.requests[0]!
  deepEqual([body.logprobs, body.top_logprobs, upstream.requests[0]!.path], [true, 1, '/v1/chat/completions'])
})

test('what a chat cannot say is refused by its field', async (t) => {
  const { openai, upstream } = await mediaGateway(t, [CLAUDE, GROQ])
  const refused = (more: object, why: RegExp) =>
    rejects(openai.completions.create({ model: 'claude', prompt: 'a', ...more } as never), (error: Error) =>
      why.test(error.message)
    )
  await refused({ suffix: 'b' }, /^400 suffix: cannot be said in a chat/)
  await refused({ best_of: 2 }, /^400 best_of: cannot be said/)
  await refused({ prompt: ['a', 'b'] }, /^400 prompt: must be one text/)
  await refused({ prompt: [1, 2] }, /^400 prompt: must be a text, not tokens/)
  await refused({ prompt: undefined }, /^400 prompt: is required/)
  await refused({ echo: true, logprobs: 1 }, /^400 logprobs: cannot be told/)
  await refused({ logprobs: 1 }, /^400 logprobs: cannot be carried to anthropic/)
  await refused({ frequency_penalty: 1 }, /^400 frequency_penalty: cannot be carried to anthropic/)
  equal(upstream.requests.length, 0)
})
