/** What a provider cannot be told is named by where the client has said it, in every format. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const PNG = 'iVBORw0KGgo='
const ROUTES = { '/messages': 'Messages', '/responses': 'Responses', '*': 'Completions' }
const TEXT = `data:text/plain;base64,${btoa('x')}`
const CALLS = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
const ITEMS = ['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }))
const WEB_IMAGE = 'https://example.com/a.png'

/** A client's path and body, and what of it Bedrock has no place for. */
const CASES: readonly (readonly [path: string, body: object, lost: readonly string[]])[] = [
  [
    '/v1/chat/completions',
    {
      model: 'm',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'developer', content: [{ type: 'text', text: 'D' }] },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', reasoning_content: 'Hm', content: 'Yes', tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'two' }] },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'high' } },
            { type: 'image_url', image_url: { url: WEB_IMAGE } }
          ]
        },
        { role: 'assistant', thinking_blocks: [{ type: 'thinking', thinking: 'T', signature: 's' }], content: 'So' },
        { role: 'user', content: [{ type: 'file', file: { filename: 'a.txt', file_data: TEXT } }] }
      ]
    },
    ['messages[6].content[0].image_url.detail', 'messages[6].content[1]', 'messages[7].thinking_blocks[0]']
  ],
  [
    '/v1/responses',
    {
      model: 'm',
      instructions: 'I',
      input: [
        { type: 'message', role: 'developer', content: 'D' },
        { type: 'message', role: 'user', content: 'Hi' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'own' },
        ...ITEMS,
        { type: 'function_call_output', call_id: 'a', output: 'one' },
        { type: 'function_call_output', call_id: 'b', output: 'two' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'hologram', data: 'x' },
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: WEB_IMAGE, detail: 'auto' }
          ]
        },
        { role: 'user', content: [{ type: 'hologram', data: 'y' }] },
        { role: 'user', content: [{ type: 'input_image', image_url: WEB_IMAGE, detail: 'auto' }] }
      ]
    },
    ['input[2]', 'input[7].content[0]', 'input[7].content[2]', 'input[8]', 'input[9].content[0]']
  ],
  [
    '/v1/messages',
    {
      model: 'm',
      max_tokens: 9,
      system: 'S',
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'url', url: WEB_IMAGE } }] },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'T', signature: 's' }] },
        { role: 'user', content: 'Hi' }
      ]
    },
    ['messages[0].content[0]', 'messages[1].content[0]']
  ]
]

/** The value at a path such as `a.b[0].c`. */
function valueAt(body: object, path: string): unknown {
  let value: unknown = body
  for (const step of path.split(/[.[\]]+/)) {
    if (step !== '') value = (value as Record<string, unknown> | undefined)?.[step]
  }
  return value
}

test("what Bedrock has no field for is named by its path in the client's request", async (t) => {
  const models = await provider(t)
  const bedrock = { ...at('bedrock', models, { policies: { auth: { key: 'k' } } }) }
  const drops = await gateway(t, { provider: bedrock, routes: ROUTES, unsupported: 'drop' })
  const refuses = await gateway(t, { provider: bedrock, routes: ROUTES })
  for (const [path, body, lost] of CASES) {
    const dropped = (await drops.ask(path, body)).headers.get('x-weir-dropped')!.split(', ')
    deepEqual(dropped.filter((field) => field !== 'metrics').sort(), lost)
    for (const field of lost) notEqual(valueAt(body, field), undefined, field)
    const refused = await refuses.ask(path, body)
    equal(refused.status, 400)
    const { message } = (await jsonOf(refused)).error
    equal(lost.includes(message.slice(0, message.indexOf(': '))), true, message)
  }
})

test('fields of parts have the names that the client knows them by', async (t) => {
  const models = await provider(t)
  const drops = (kind: string, more: object = {}) =>
    gateway(t, { provider: { ...at(kind, models), ...more }, routes: ROUTES, unsupported: 'drop' })
  const source = { type: 'text', media_type: 'text/plain', data: 'x' }
  const result = { type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'no' }
  const body = {
    model: 'm',
    max_tokens: 9,
    messages: [
      { role: 'user', content: [{ type: 'document', title: 'T', source }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      { role: 'user', content: [result] }
    ]
  }
  const openai = await (await drops('openai')).ask('/v1/messages', body)
  equal(openai.headers.get('x-weir-dropped'), 'messages[0].content[0].title')
  const responses = await (await drops('custom', { custom: { formats: ['responses'] } })).ask('/v1/messages', body)
  // There is no field for it: the text says so.
  equal(responses.headers.get('x-weir-dropped'), null)
  equal(models.requests.at(-1)!.body.input.at(-1).output, 'Error: no')
})
