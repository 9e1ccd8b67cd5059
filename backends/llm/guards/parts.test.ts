/** Texts that are cut into the parts of one message: what is found over their bounds is masked, in every format. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Body } from '#engine/testing/models.ts'
import { CHAT, chat, dataOf, type Events, regex, sse, stand } from './guards.fixture.ts'

const GEMINI = '/v1beta/models/m:generateContent'
const CUT = ['It is 123-45-', '67', '89, ok'] as const
const JOINED = ['It is <SSN>', '', ', ok']
/** Found alone, and not together with what follows. */
const ALONE = ['123-45-6789', '1 and 2'] as const

type Wrap = (texts: readonly string[]) => object

const REQUESTS: readonly (readonly [string, object, Wrap])[] = [
  [CHAT, { openai: {} }, (texts) => chat(texts.map((text) => ({ type: 'text', text })))],
  [
    '/v1/messages',
    { anthropic: {} },
    (texts) => ({
      model: 'm',
      max_tokens: 5,
      system: texts.map((text) => ({ type: 'text', text })),
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'x', content: texts.map((text) => ({ type: 'text', text })) }]
        }
      ]
    })
  ],
  [
    '/v1/responses',
    { openai: {} },
    (texts) => ({
      model: 'm',
      input: [{ role: 'user', content: texts.map((text) => ({ type: 'input_text', text })) }]
    })
  ],
  [GEMINI, { gemini: {} }, (texts) => ({ contents: [{ role: 'user', parts: texts.map((text) => ({ text })) }] })]
]

test('requests: over the parts of a message, and each part alone', async (t) => {
  for (const [path, provider, body] of REQUESTS) {
    const { models, ask } = await stand(t, { request: [regex()] }, provider)
    for (const [content, wanted] of [
      [CUT, JOINED],
      [ALONE, ['<SSN>', '1 and 2']],
      [
        ['a', 'b 12'],
        ['a', 'b 12']
      ]
    ] as const) {
      equal((await ask(path, body(content))).status, 200)
      deepEqual(models.requests.at(-1)!.body, body(wanted), path)
    }
    const closed = await stand(t, { request: [regex({ action: 'Reject' })] }, provider)
    for (const content of [CUT, ALONE]) equal((await closed.ask(path, body(content))).status, 403, path)
    equal(closed.models.requests.length, 0)
    equal((await closed.ask(path, body(['123-45-', 'no', '6789']))).status, 200, path)
  }
})

/** Turns of a conversation in each format: `[role, text]` each. */
const TURNS: readonly (readonly [string, object, (turns: readonly (readonly [string, string])[]) => object])[] = [
  [CHAT, { anthropic: {} }, (turns) => ({ model: 'm', messages: turns.map(([role, content]) => ({ role, content })) })],
  [
    '/v1/messages',
    { anthropic: {} },
    (turns) => ({
      model: 'm',
      max_tokens: 5,
      messages: turns.map(([role, words]) => ({ role, content: [{ type: 'text', text: words }] }))
    })
  ],
  [
    '/v1/responses',
    { gemini: {} },
    (turns) => ({ model: 'm', input: turns.map(([role, content]) => ({ type: 'message', role, content })) })
  ],
  [
    GEMINI,
    { openai: {} },
    (turns) => ({
      contents: turns.map(([role, words]) => ({ role: role === 'user' ? role : 'model', parts: [{ text: words }] }))
    })
  ]
]

test('messages of one role that follow one another are one text, as providers and translations join them', async (t) => {
  for (const [path, provider, body] of TURNS) {
    const { models, ask } = await stand(t, { request: [regex({ action: 'Reject' })] }, provider)
    const statusOf = async (...turns: (readonly [string, string])[]) => (await ask(path, body(turns))).status
    const [first, last] = ['It is 123-45-', '6789.']
    equal(await statusOf(['user', first], ['user', last]), 403, path)
    equal(await statusOf(['user', 'hi'], ['assistant', first], ['assistant', last], ['user', 'go']), 403, path)
    equal(await statusOf(['user', first], ['assistant', last], ['user', last]), 200, path)
    equal(models.requests.length, 1)
  }
})

test('all instructions are one text, wherever they stand', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] }, { anthropic: {} })
  const turn = (role: string, content: string) => ({ role, content })
  const messages = [turn('system', '123-45-'), turn('developer', '6789 ok'), turn('user', 'hi')]
  const first = await ask(CHAT, { model: 'm', messages })
  equal(first.status, 200, await first.text())
  await ask('/v1/responses', {
    model: 'm',
    instructions: '123-45-',
    input: [turn('system', '6789 ok'), turn('user', 'a')]
  })
  for (const { body } of models.requests) equal(body.system.map((part: Body) => part.text).join(''), '<SSN> ok')
  equal(models.requests.length, 2)
})

test('results of two tools are two texts', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'a', content: '123-45-' },
    { role: 'tool', tool_call_id: 'b', content: '6789' }
  ]
  await ask(CHAT, { model: 'm', messages })
  deepEqual(models.requests.at(-1)!.body.messages, messages)
})

const thought = (text: string) => ({ type: 'thinking', thinking: text, signature: 's' })
const text = (words: string) => ({ type: 'text', text: words })
const call = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }

const ANSWERS: readonly (readonly [string, object, Wrap])[] = [
  [
    '/v1/messages',
    { anthropic: {} },
    (texts) => ({
      id: 'x',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [text(texts[0]!), thought('hm 1'), text(texts[1]!), call, text(texts[2]!)],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 }
    })
  ],
  [
    GEMINI,
    { gemini: {} },
    (texts) => ({
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: {
            role: 'model',
            parts: [
              { text: texts[0] },
              { text: 'hm 1', thought: true },
              { text: texts[1] },
              { functionCall: { name: 'f', args: { a: 1 } } },
              { text: texts[2] }
            ]
          }
        }
      ]
    })
  ],
  [
    '/v1/responses',
    { openai: {} },
    (texts) => ({
      id: 'x',
      object: 'response',
      model: 'm',
      status: 'completed',
      output: [
        {
          type: 'message',
          role: 'assistant',
          content: texts.slice(0, 2).map((one) => ({ type: 'output_text', text: one }))
        },
        { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm 1' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: texts[2] }] }
      ]
    })
  ]
]

test('answers: over thoughts, calls and messages', async (t) => {
  for (const [path, provider, answer] of ANSWERS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(CUT)))
      return true
    }
    const got = await ask(path, request)
    deepEqual(await got.json(), answer(JOINED), path)
  }
})

test('answers: the choices of one answer are not joined', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  const choices = ['123-45-', '6789'].map((content, index) => ({ index, message: { role: 'assistant', content } }))
  models.instead = (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'x', model: 'm', choices }))
    return true
  }
  deepEqual(((await (await ask(CHAT, request)).json()) as Body).choices, choices)
})

const request = {
  ...chat('hi'),
  max_tokens: 5,
  input: 'hi',
  contents: [{ parts: [{ text: 'hi' }] }]
}

// --- streams: text, something else, text, something else, text ---

interface Parted {
  readonly path: string
  readonly provider: object
  events(texts: readonly string[]): Events
  read(data: readonly Body[]): string
}

const named = (all: readonly object[]): Events => all.map((data) => [(data as { type: string }).type, data])

const messages: Parted = {
  path: '/v1/messages',
  provider: { anthropic: {} },
  events: (texts) => {
    const blocks: [object, object][] = []
    for (const [i, words] of texts.entries()) {
      if (i === 1) {
        blocks.push([
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: 'hm 1' }
        ])
      } else if (i > 1)
        blocks.push([
          { ...call, input: {} },
          { type: 'input_json_delta', partial_json: '{"a":1}' }
        ])
      blocks.push([text(''), { type: 'text_delta', text: words }])
    }
    const message = { id: 'x', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1 } }
    return named([
      { type: 'message_start', message },
      ...blocks.flatMap(([block, delta], index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index }
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' }
    ])
  },
  read: (data) => data.map(({ delta }) => delta?.text ?? '').join('')
}

const chunk = (delta: object, finish: string | null = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }]
})

const PARTED: readonly Parted[] = [
  messages,
  {
    path: CHAT,
    provider: { openai: {} },
    events: (texts) => [
      ...texts.flatMap((content, i) => {
        const between =
          i % 2 === 0
            ? { reasoning_content: 'hm 1' }
            : { tool_calls: [{ index: i, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }
        return [[null, chunk({ content })] as const, [null, chunk(between)] as const]
      }),
      [null, chunk({}, 'stop')],
      [null, '[DONE]']
    ],
    read: (data) => data.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('')
  },
  {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    provider: { gemini: {} },
    events: (texts) => {
      const item = (part: object, more: object = {}) =>
        [null, { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, ...more }] }] as const
      return [
        ...texts.flatMap((words, i) => [
          item({ text: words }),
          item(i % 2 === 0 ? { text: 'hm 1', thought: true } : { functionCall: { name: 'f', args: {} } })
        ]),
        item({ text: '' }, { finishReason: 'STOP' })
      ]
    },
    read: (data) => {
      const parts: Body[] = data.flatMap(({ candidates }) => candidates[0].content.parts)
      return parts.map((part) => (part.thought === true ? '' : (part.text ?? ''))).join('')
    }
  },
  {
    path: '/v1/responses',
    provider: { openai: {} },
    events: (texts) => {
      const part = (words: string) => ({ type: 'output_text', text: words, annotations: [] })
      const items = texts.map((words, i) => {
        return { type: 'message', id: `m${i}`, role: 'assistant', status: 'completed', content: [part(words)] }
      })
      const response = { id: 'x', object: 'response', model: 'm', created_at: 1, status: 'completed', output: items }
      const all: object[] = texts.flatMap((words, i) => {
        const at = { output_index: i, item_id: `m${i}`, content_index: 0 }
        return [
          { type: 'response.output_item.added', output_index: i, item: { ...items[i], content: [] } },
          { type: 'response.content_part.added', ...at, part: part('') },
          { type: 'response.output_text.delta', ...at, delta: words },
          { type: 'response.output_text.done', ...at, text: words },
          { type: 'response.content_part.done', ...at, part: part(words) },
          { type: 'response.output_item.done', output_index: i, item: items[i] }
        ]
      })
      all.unshift({ type: 'response.created', response: { ...response, output: [], status: 'in_progress' } })
      all.push({ type: 'response.completed', response })
      return named(all.map((data, i) => ({ ...data, sequence_number: i })))
    },
    read: (data) => {
      const deltas = data.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
      // What is said again is the same.
      const done = data.map(({ type, text: words }) => (type === 'response.output_text.done' ? words : '')).join('')
      const parts = data.map(({ type, part }) => (type === 'response.content_part.done' ? part.text : '')).join('')
      const items = data.map(({ type, item }) => (type === 'response.output_item.done' ? item.content[0].text : ''))
      const { output } = data.at(-1)!.response
      const last = output.map(({ content }: Body) => content[0].text).join('')
      deepEqual([done, parts, items.join(''), last], [deltas, deltas, deltas, deltas])
      return deltas
    }
  }
]

test('streams: over everything that stands between, at every pair of cuts', async (t) => {
  const whole = 'It is 123-45-6789, ok'
  for (const { path, provider, events, read } of PARTED) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    for (let a = 6; a < 18; a++) {
      for (let b = a + 1; b < 18; b += 3) {
        const sent = events([whole.slice(0, a), whole.slice(a, b), whole.slice(b)])
        models.instead = (_, response) => {
          response.setHeader('content-type', 'text/event-stream').end(sse(sent))
          return true
        }
        const got = await (await ask(path, { ...request, stream: true })).text()
        equal(read(dataOf(got)), 'It is <SSN>, ok', `${path} ${a} ${b}`)
        equal(dataOf(got).length, sent.filter(([, data]) => data !== '[DONE]').length)
      }
    }
  }
})

test('streams: what is found in one part alone stays found, whatever follows', async (t) => {
  for (const { path, provider, events, read } of PARTED) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    for (const [content, wanted] of [
      [ALONE, '<SSN>1 and 2'],
      [['9', '123-45-6789', 'x'], '9<SSN>x'],
      [['12', 'a'], '12a']
    ] as const) {
      models.instead = (_, response) => {
        response.setHeader('content-type', 'text/event-stream').end(sse(events(content)))
        return true
      }
      const got = await (await ask(path, { ...request, stream: true })).text()
      equal(read(dataOf(got)), wanted, path)
    }
  }
})

test('streams: what may be the beginning of a match does not wait for long for its end', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  let more: (() => void) | null = null
  models.instead = (_, response) => {
    response.setHeader('content-type', 'text/event-stream')
    const calls = Array.from({ length: 50 }, () => {
      const delta = { tool_calls: [{ index: 0, function: { arguments: `"${'a'.repeat(100)}" ` } }] }
      return [null, chunk(delta)] as const
    })
    response.write(sse([[null, chunk({ content: 'It is 123-45' })], ...calls]))
    more = () => response.end()
    return true
  }
  const got = await ask(CHAT, { ...request, stream: true })
  const reader = got.body!.getReader()
  let seen = ''
  while (!seen.includes('123-45')) seen += new TextDecoder().decode((await reader.read()).value)
  ok(seen.includes('It is 123-45'))
  more!()
  await reader.cancel()
})
