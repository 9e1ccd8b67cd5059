/** Cohere by its own chat and by its compatibility API, for clients of all formats. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { COHERE_BUSY } from '#engine/testing/models-cohere.ts'
import { policies } from '#policies/index.ts'

/** In the order and with the members that Cohere has sent them in (langchain-cohere and vercel/ai, recorded calls). */
const USAGE = {
  billed_units: { input_tokens: 46, output_tokens: 14 },
  tokens: { input_tokens: 1445, output_tokens: 43 },
  cached_tokens: 704
}
const CALL = { id: 'clock_y46a', type: 'function', function: { name: 'clock', arguments: '{"zone":"CET"}' } }
const CITED = {
  ...{ start: 0, end: 4, text: 'Plan', type: 'PLAN' },
  sources: [{ type: 'document', id: 'doc:0', document: { id: 'doc:0', text: 'a document' } }]
}
const WHOLE = {
  id: '66dec7d7',
  message: {
    role: 'assistant',
    content: [{ type: 'thinking', thinking: 'Which zone?' }],
    tool_plan: 'Plan: ask.',
    tool_calls: [CALL],
    citations: [CITED]
  },
  finish_reason: 'TOOL_CALL',
  usage: USAGE
}
const event = (type: string, message: object | null, more: object = {}) => ({
  type,
  ...(message === null ? {} : { delta: { message } }),
  ...more
})
const EVENTS = [
  { id: '66dec7d7', ...event('message-start', { role: 'assistant', content: [], tool_plan: '', tool_calls: [] }) },
  event('content-start', { content: { type: 'thinking', thinking: '' } }, { index: 0 }),
  event('content-delta', { content: { thinking: 'Which ' } }, { index: 0 }),
  event('content-delta', { content: { thinking: 'zone?' } }, { index: 0 }),
  event('content-end', null, { index: 0 }),
  event('tool-plan-delta', { tool_plan: 'Plan: ' }),
  event('citation-start', { citations: CITED }, { index: 0 }),
  event('citation-end', null, { index: 0 }),
  event('tool-plan-delta', { tool_plan: 'ask.' }),
  event('tool-call-start', { tool_calls: { ...CALL, function: { name: 'clock', arguments: '' } } }, { index: 0 }),
  event('tool-call-delta', { tool_calls: { function: { arguments: '{"zone":' } } }, { index: 0 }),
  event('tool-call-delta', { tool_calls: { function: { arguments: '"CET"}' } } }, { index: 0 }),
  event('tool-call-end', null, { index: 0 }),
  { type: 'message-end', delta: { finish_reason: 'TOOL_CALL', usage: USAGE } }
]

const framed = (events: readonly object[]) =>
  events.map((one) => `event: ${(one as { type: string }).type}\ndata: ${JSON.stringify(one)}\n\n`).join('')

/** A generation that has failed behind a good status, by its reason. */
const FAILURES: ReadonlyMap<string, (response: ServerResponse, isStreamed: boolean) => void> = new Map(
  ['ERROR', 'TIMEOUT'].map((word) => [
    word.toLowerCase(),
    (response, isStreamed) => {
      const end = { type: 'message-end', delta: { finish_reason: word, usage: USAGE } }
      const content = [{ type: 'text', text: 'Half' }]
      const whole = JSON.stringify({ ...WHOLE, message: { role: 'assistant', content }, finish_reason: word })
      const type = isStreamed ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': type })
      response.end(isStreamed ? framed([...EVENTS.slice(0, 5), end]) : whole)
    }
  ])
)

async function cohere(t: Parameters<typeof provider>[0], params: object = { cohereApi: 'v2' }) {
  const models = await provider(t)
  models.instead = ({ body }, response: ServerResponse) => {
    const failing = FAILURES.get(String(body.model))
    if (failing !== undefined) failing(response, body.stream === true)
    else if (body.model === 'busy') response.writeHead(429).end(JSON.stringify(COHERE_BUSY.whole))
    else if (body.stream === true) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(framed(EVENTS))
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE))
    return true
  }
  const all = { host: '127.0.0.1', port: models.port, apiKey: 'canary-of-cohere', ...params }
  const gateway = await gatewayOf(t, { llm: { port: 0, models: [{ name: '*', provider: 'cohere', params: all }] } })
  return { models, ...gateway }
}

const TOOL = { type: 'object', properties: { zone: { type: 'string' } } }
const TEXT = 'What time is it?'
const FUNCTION = { name: 'clock', parameters: TOOL }
const DECLARED = { functionDeclarations: [{ name: 'clock', parametersJsonSchema: TOOL }] }
const TURN = { role: 'user', parts: [{ text: TEXT }] }
/** The same question. */
const REQUESTS: readonly (readonly [name: string, path: string, body: JsonObject])[] = [
  [
    'completions',
    '/v1/chat/completions',
    { model: 'command', messages: [{ role: 'user', content: TEXT }], tools: [{ type: 'function', function: FUNCTION }] }
  ],
  ['responses', '/v1/responses', { model: 'command', input: TEXT, tools: [{ type: 'function', ...FUNCTION }] }],
  [
    'messages',
    '/v1/messages',
    {
      ...{ model: 'command', max_tokens: 99, messages: [{ role: 'user', content: TEXT }] },
      tools: [{ name: 'clock', input_schema: TOOL }]
    }
  ],
  ['gemini', '/v1beta/models/command:generateContent', { contents: [TURN], tools: [DECLARED] }]
]

for (const [name, path, body] of REQUESTS) {
  test(`clients of ${name} get the answer, whole and streamed, with what it has been charged`, async (t) => {
    const { ask, models } = await cohere(t)
    const whole = await ask(path, body)
    equal(whole.status, 200)
    const text = await whole.text()
    for (const part of ['Which zone?', 'Plan: ask.', 'clock', 'CET', '46', '14']) ok(text.includes(part), part)
    ok(whole.headers.has('x-weir-dropped'), 'what is cited')
    const [sent] = models.requests
    deepEqual([sent!.path, sent!.headers.authorization], ['/v2/chat', 'Bearer canary-of-cohere'])
    equal(sent!.body.model, 'command')
    deepEqual(sent!.body.messages, [{ role: 'user', content: TEXT }])
    deepEqual(sent!.body.tools, [{ type: 'function', function: FUNCTION }])
    const streamedPath = path.replace(':generateContent', ':streamGenerateContent?alt=sse')
    const streamed = await ask(streamedPath, name === 'gemini' ? body : { ...body, stream: true })
    const events = await streamed.text()
    for (const part of ['Plan: ', 'ask.', 'clock', 'zone?']) ok(events.includes(part), part)
    match(events, /x-weir-dropped/)
    equal(models.requests[1]!.body.stream, true)
    const busy = await ask(path.replace('command', 'busy'), { ...body, model: 'busy' })
    equal(busy.status, 429)
    match(await busy.text(), /Too many requests, please wait\./)
  })
}

test('by default clients of chat completions are passed to the compatibility API, and others get its own chat', async (t) => {
  const { ask, models } = await cohere(t, {})
  for (const [, path, body] of REQUESTS) await (await ask(path, body)).text()
  deepEqual(
    models.requests.map(({ path }) => path),
    ['/compatibility/v1/chat/completions', '/v2/chat', '/v2/chat', '/v2/chat']
  )
  const all = await cohere(t, { cohereApi: 'compatibility' })
  for (const [, path, body] of REQUESTS) await (await all.ask(path, { ...body, max_completion_tokens: 5 })).text()
  equal(new Set(all.models.requests.map(({ path }) => path)).size, 1)
  // In its dialect, at whatever host.
  equal(all.models.requests[0]!.body.max_tokens, 5)
})

test('all that a request can say is said in words of Cohere', async (t) => {
  const { ask, models } = await cohere(t)
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } }
  const answer = await ask('/v1/chat/completions', {
    model: 'command',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image] },
      { role: 'assistant', content: 'I will.', reasoning_content: 'Hm', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: CALL.id, content: 'noon' },
      { role: 'assistant', content: 'Noon.' },
      { role: 'user', content: 'As JSON' }
    ],
    tools: [
      { type: 'function', function: { ...FUNCTION, strict: true } },
      { type: 'function', function: { name: 'other', parameters: {} } }
    ],
    tool_choice: { type: 'function', function: { name: 'clock' } },
    ...{ max_tokens: 9000, temperature: 0.5, top_p: 0.9, seed: 7, stop: 'END', logprobs: true },
    ...{ frequency_penalty: 0.1, presence_penalty: 0.2, reasoning_effort: 'low' },
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: TOOL } },
    documents: [{ id: 'd', data: { text: 'known' } }],
    safety_mode: 'STRICT',
    citation_options: { mode: 'OFF' }
  })
  equal(answer.status, 200, await answer.clone().text())
  deepEqual(models.requests[0]!.body, {
    model: 'command',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm' }], tool_plan: 'I will.', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: CALL.id, content: 'noon' },
      { role: 'assistant', content: 'Noon.' },
      { role: 'user', content: 'As JSON' }
    ],
    tools: [{ type: 'function', function: FUNCTION }],
    strict_tools: true,
    tool_choice: 'REQUIRED',
    response_format: { type: 'json_object', json_schema: TOOL },
    ...{ max_tokens: 9000, temperature: 0.5, p: 0.9, seed: 7, stop_sequences: ['END'], logprobs: true },
    ...{ frequency_penalty: 0.1, presence_penalty: 0.2, thinking: { type: 'enabled', token_budget: 1024 } },
    documents: [{ id: 'd', data: { text: 'known' } }],
    safety_mode: 'STRICT',
    citation_options: { mode: 'OFF' }
  })
  match(answer.headers.get('x-weir-dropped') ?? '', /tool_choice/)
})

test('text in a file is a document, other files and second answers are refused by their field', async (t) => {
  const { ask, models } = await cohere(t)
  const file = (type: string) => ({
    ...{ model: 'command', max_tokens: 9 },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Sum it up' },
          {
            type: 'document',
            title: 't',
            source: { type: type === 'text/plain' ? 'text' : 'base64', media_type: type, data: 'AA==' }
          }
        ]
      }
    ]
  })
  equal((await ask('/v1/messages', file('text/plain'))).status, 200)
  deepEqual(models.requests[0]!.body.documents, [{ data: { text: 'AA==', title: 't' } }])
  const refused = await ask('/v1/messages', file('application/pdf'))
  equal(refused.status, 400)
  match(await refused.text(), /messages\[0\]\.content\[1\]/)
  const two = await ask('/v1/chat/completions', { ...REQUESTS[0]![2], n: 2 })
  equal(two.status, 400)
  match(JSON.stringify(await jsonOf(two)), /\bn\b/)
})

test('an address with a path of its own is a mistake, which is named', () => {
  const params = { baseUrl: 'https://proxy.example/cohere' }
  const file = JSON.stringify({ llm: { models: [{ name: 'm', provider: 'cohere', params }] } })
  const result = loadConfig(file, { file: 'f', env: {}, policies, backends })
  ok(!result.ok)
  match(JSON.stringify(result.errors), /params\.baseUrl|must be the address without a path/)
})

test('a generation that fails behind a good status is an error for clients of all formats', async (t) => {
  const { ask } = await cohere(t)
  for (const [model, status] of [
    ['error', 500],
    ['timeout', 504]
  ] as const) {
    const messages = [{ role: 'user', content: TEXT }]
    for (const [path, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/responses', { input: TEXT }],
      ['/v1/messages', { messages, max_tokens: 9 }],
      [`/v1beta/models/${model}:generateContent`, { contents: [{ role: 'user', parts: [{ text: TEXT }] }] }]
    ] as const) {
      const named = (more: object) => (path.endsWith('generateContent') ? body : { model, ...body, ...more })
      const whole = await ask(path, named({}))
      deepEqual([whole.status, (await jsonOf(whole)).error.message], [status, 'the model could not go on'], path)
      const streamPath = path.replace(':generateContent', ':streamGenerateContent?alt=sse')
      const events = await (await ask(streamPath, named({ stream: true }))).text()
      ok(events.includes('the model could not go on') && events.includes('Which '), events)
      equal(/\[DONE\]|message_stop|response\.completed|"finishReason":"STOP"/.test(events), false, events)
    }
  }
})
