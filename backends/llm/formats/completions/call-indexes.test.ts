/** Calls of streams without `index`, as OpenAI's client and its helper for streams get them. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { mending } from './mending.ts'

const call = (id: string | null, name: string, text: string, index?: number | null) => ({
  ...(id === null ? {} : { id }),
  ...(index === undefined ? {} : { index }),
  function: { name, arguments: text }
})
const event = (calls: readonly object[], choice = 0, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: choice, delta: { role: 'assistant', content: null, tool_calls: calls }, finish_reason }]
})

interface Mended {
  readonly choices: readonly { readonly delta: { readonly tool_calls: readonly { readonly index?: number }[] } }[]
}

/** The indexes that each of `events` has in the end. */
function indexesOf(events: readonly object[]): (number | null | undefined)[][] {
  const mend = mending.begin()
  return events.map((one) => {
    const { choices } = JSON.parse(mend(JSON.stringify(one)) ?? JSON.stringify(one)) as Mended
    return choices.flatMap(({ delta }) => delta.tool_calls.map(({ index }) => index))
  })
}

test('calls without an index are counted, and their pieces stay with them', () => {
  const rows: readonly (readonly [events: readonly object[], indexes: readonly number[][]])[] = [
    [
      [event([call('a', 'f', '{}')]), event([call('b', 'g', '{}')])],
      [[0], [1]]
    ],
    [[event([call('a', 'f', '{}'), call('b', 'g', '{}')])], [[0, 1]]],
    [
      [
        event([call('a', 'f', '')]),
        event([call(null, '', '{')]),
        event([call('a', '', '}')]),
        event([call('b', 'g', '')])
      ],
      [[0], [0], [0], [1]]
    ],
    // Google's gave no ids either.
    [
      [event([call('', 'f', '{}')]), event([call('', 'g', '{}')])],
      [[0], [1]]
    ],
    [
      [event([call('a', 'f', '{}', null)]), event([call('b', 'f', '{}', 4)]), event([call('c', 'f', '{}')])],
      [[0], [4], [5]]
    ],
    [
      [event([call('a', 'f', '{}')]), event([call('b', 'f', '{}')], 1)],
      [[0], [0]]
    ]
  ]
  for (const [events, indexes] of rows) deepEqual(indexesOf(events), indexes, JSON.stringify(events))
})

test('what lacks nothing, or is none of it, passes as it is', () => {
  const mend = mending.begin()
  for (const data of [
    JSON.stringify(event([call('a', 'f', '', 0)])),
    '{"choices":[{"delta":{"tool_calls":[null,7]}},8]}',
    '{"choices":{}}',
    '[DONE]',
    '{"tool_calls":[{}]}'
  ])
    equal(mend(data), null, data)
  equal(mending.marks.test('{"tool_calls":[{"index":0,"id":"a"}]}'), false)
})

test("OpenAI's client gets calls of Mistral's streams", async (t) => {
  const models = await provider(t)
  // As Mistral has sent it (vercel/ai, recorded): no index, no type, and the end in the same event.
  const last = event([call('gSIMJiOkT', 'weather', '{"location": "Rome"}')], 0, 'tool_calls')
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`)
    return true
  }
  const params = { host: '127.0.0.1', port: models.port, apiKey: 'k' }
  const file = { llm: { port: 0, models: [{ name: '*', provider: 'openai', params }] } }
  const { base } = await gatewayOf(t, file)
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const { choices } = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
  const [made] = choices[0]!.message.tool_calls ?? []
  deepEqual(made?.type === 'function' && made.function.arguments, '{"location": "Rome"}')
})
