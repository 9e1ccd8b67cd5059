/** What may be left out of a request, what is said in other words, and what is refused. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChatEvent, ClientFormat, Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { reportLosses } from '#backends/llm/request/provider-request.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { parseEvents } from '#engine/testing/sse.ts'
import { asFunctionPart, clientCallsWriter, clientToolsOf, withClientCalls } from './client-tools.ts'
import { rewritten } from './rewrites.ts'

const MODELS: Readonly<Record<FormatName, string>> = {
  completions: 'gpt-5',
  responses: 'gpt-5',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-flash',
  converse: 'anthropic.claude-sonnet-4-5-v1:0',
  cohereV2: 'command-a-reasoning-08-2025',
  predictions: 'meta/meta-llama-3-70b-instruct'
}
type Client = ClientFormat
const CLIENTS: readonly Client[] = ['completions', 'responses', 'messages', 'gemini']
const TARGETS = Object.keys(MODELS) as FormatName[]

const HI = { role: 'user', content: 'Hi' }
const SMALLEST: Readonly<Record<Client, JsonObject>> = {
  completions: { model: 'm', messages: [HI] },
  responses: { model: 'm', input: [HI] },
  messages: { model: 'm', max_tokens: 9, messages: [HI] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
}

/** What the provider is sent, and what becomes of the rest. */
function sent(
  client: Client,
  to: FormatName,
  more: JsonObject
): { body: string; losses: Losses; rewrite: Conversation } {
  const body = { ...SMALLEST[client], ...more }
  const read = FORMATS[client].readRequest(body, { model: MODELS[to], isStreamed: false })
  const [lost, losses] = [new Losses(), new Losses()]
  const rewrite = rewritten(read, to, lost)
  const written = FORMATS[to].writeRequest(rewrite, lost)
  reportLosses(lost, read, { body, unprompted: null }, losses)
  return { body: JSON.stringify(written), losses, rewrite }
}

const others = (client: Client): FormatName[] => TARGETS.filter((to) => to !== client)
/** Predictions have no tools, and refuse what is about them. */
const withTools = (client: Client): FormatName[] => others(client).filter((to) => to !== 'predictions')

test('insignificant changes and losses are named all the same', () => {
  const pdf = { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' }
  const file = { role: 'user', content: [{ type: 'file', file: pdf }] }
  const named = sent('completions', 'gemini', { messages: [file] }).losses
  deepEqual([named.fields, named.kinds], [['messages[0].content[0].file.filename'], ['harmless']])
  const document = {
    type: 'document',
    title: 'a',
    source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }
  }
  const titled = sent('messages', 'gemini', { messages: [{ role: 'user', content: [document] }] })
  deepEqual(titled.losses.fields, ['messages[0].content[0].title'])
  const user = 'u'.repeat(300)
  for (const [client, more, path] of [
    ['completions', { user }, 'user'],
    ['completions', { safety_identifier: user }, 'safety_identifier'],
    ['responses', { user }, 'user'],
    ['responses', { safety_identifier: user }, 'safety_identifier'],
    ['messages', { metadata: { user_id: user } }, 'metadata.user_id']
  ] as const) {
    const { losses } = sent(client, 'converse', more)
    deepEqual([losses.fields, losses.kinds], [[path], ['carried']])
  }
  const call = { functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }
  const contents = [
    { role: 'user', parts: [{ text: 'x' }] },
    { role: 'model', parts: [call] }
  ]
  for (const to of withTools('gemini').filter((one) => one !== 'completions'))
    deepEqual(sent('gemini', to, { contents }).losses.kinds, ['harmless'], to)
})

describe('nothing of instructions, content and tools is left out without a refusal', () => {
  const turn = (content: JsonObject, role = 'user') => ({ messages: [HI, { role, content: [content] }] })
  const odd = { type: 'hologram', data: 'x' }
  /** Each must be refused, or be told. */
  const CASES: Readonly<Record<Client, readonly JsonObject[]>> = {
    completions: [
      turn(odd),
      turn(odd, 'assistant'),
      { messages: [HI, { role: 'system', content: [odd] }] },
      { tools: [{ type: 'hologram', name: 'x' }] },
      { what_nobody_knows: 1 },
      { n: 2 },
      { logprobs: true },
      { frequency_penalty: 0.5 },
      { modalities: ['text', 'audio'] },
      { logit_bias: { 7: 100 } },
      { web_search_options: { search_context_size: 'low' } },
      { web_search_options: {} },
      { what_nobody_knows: {} },
      { messages: [{ ...HI, hologram: 'x' }] },
      { messages: [HI, { role: 'assistant', content: null, audio: { id: 'audio_1' } }, HI] }
    ],
    responses: [
      { input: [HI, odd] },
      { input: [{ role: 'user', content: [odd] }] },
      { tools: [{ type: 'web_search' }] },
      { tools: [{ type: 'file_search', vector_store_ids: ['a'] }] },
      { previous_response_id: 'resp_1' },
      { prompt: { id: 'p' } },
      { background: true },
      { what_nobody_knows: 1 }
    ],
    messages: [
      turn(odd),
      turn(odd, 'assistant'),
      turn({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, 'assistant'),
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      { tools: [{ name: 'x', input_schema: { type: 'object' }, allowed_callers: ['code_execution_20250825'] }] },
      { mcp_servers: [{ type: 'url', url: 'https://x' }] },
      { container: 'c' },
      { inference_geo: 'eu' },
      { what_nobody_knows: 1 }
    ],
    gemini: [
      { contents: [{ role: 'user', parts: [{ hologram: 'x' }] }] },
      { tools: [{ googleSearch: {} }] },
      { cachedContent: 'cachedContents/a' },
      { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_LOW_AND_ABOVE' }] },
      { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } },
      { generationConfig: { presencePenalty: 0.5 } },
      { generationConfig: { candidateCount: 2 } },
      { generationConfig: { what_nobody_knows: 1 } }
    ]
  }
  /** What the two have in common. */
  const SHARED: Readonly<Record<string, RegExp>> = {
    'completions responses': /logprobs/,
    'completions gemini': /"(?:n|logprobs|frequency_penalty)"/,
    'gemini completions': /presencePenalty|candidateCount/,
    'completions cohereV2': /"(?:logprobs|frequency_penalty)"/,
    'gemini cohereV2': /presencePenalty/,
    'completions predictions': /"frequency_penalty"/,
    'gemini predictions': /presencePenalty/
  }
  for (const client of CLIENTS) {
    for (const to of others(client)) {
      test(`${client} to ${to}`, () => {
        for (const more of CASES[client]) {
          const part = JSON.stringify(more)
          if (SHARED[`${client} ${to}`]?.test(part)) continue
          try {
            ok(sent(client, to, more).losses.kinds.includes('meaning'), part)
          } catch (error) {
            if (!(error instanceof FormatError)) throw error
          }
        }
      })
    }
  }
})

test('no-ops, hints and leftovers of SDKs in answers are named, and refuse nothing', () => {
  const harmless = { store: false, modalities: ['text'], logit_bias: {}, prompt_cache_key: 'k', seed: 1 }
  const call = { id: 'a', index: 0, type: 'function', function: { name: 'f', arguments: '{}', parsed_arguments: {} } }
  const echo = { role: 'assistant', content: 'x', provider_specific_fields: { a: 1 }, audio: null, tool_calls: [call] }
  const messages = [HI, echo, { role: 'tool', tool_call_id: 'a', content: 'r' }]
  for (const to of withTools('completions')) {
    const { losses, body } = sent('completions', to, { ...harmless, messages })
    ok(!losses.kinds.includes('meaning'), `${to}: ${losses.fields}`)
    ok(losses.fields.includes('messages[1].tool_calls[0].index'), to)
    ok(losses.fields.includes('messages[1].provider_specific_fields'), to)
    match(body, /"r"/)
  }
})

test('a member that is harmless of the model is not so of the user', () => {
  const of = (role: string) => sent('completions', 'messages', { messages: [HI, { role, content: 'x', extra: 1 }] })
  deepEqual(of('assistant').losses.kinds, ['harmless'])
  deepEqual(of('user').losses.kinds, ['meaning'])
})

test('a great many losses are reported in linear time', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, i]))
  const { losses } = sent('completions', 'messages', members(20_000))
  equal(losses.fields.length, 20_000)
})

test('instructions in the middle follow the others, in order, where there is no place for them', () => {
  const messages = [
    { role: 'system', content: 'one' },
    HI,
    { role: 'assistant', content: 'x' },
    { role: 'developer', content: 'two' },
    HI,
    { role: 'system', content: 'three' }
  ]
  for (const to of ['messages', 'gemini', 'converse'] as const) {
    const { body, losses } = sent('completions', to, { messages })
    match(body, /one.*two.*three/)
    deepEqual(losses.fields, ['messages[3]', 'messages[5]'])
    deepEqual(losses.kinds, ['carried', 'carried'])
  }
  deepEqual(sent('completions', 'responses', { messages }).losses.fields, [])
})

test('JSON without a schema is asked for by an instruction', () => {
  for (const to of ['messages', 'converse'] as const) {
    const { body, losses } = sent('completions', to, { response_format: { type: 'json_object' } })
    match(body, /"system":.*JSON object/)
    deepEqual([losses.fields, losses.kinds], [['response_format'], ['carried']])
  }
  const gemini = { generationConfig: { responseMimeType: 'application/json' } }
  match(sent('gemini', 'completions', gemini).body, /JSON object/)
  match(sent('gemini', 'responses', gemini).body, /"input":.*JSON object/)
})

test('the user is a hash where the name is too long or has characters that are not allowed', () => {
  const long = 'x'.repeat(300)
  for (const to of others('messages')) {
    const { rewrite } = sent('messages', to, { metadata: { user_id: long } })
    // These have no place for it.
    if (to !== 'gemini' && to !== 'cohereV2' && to !== 'predictions') match(rewrite.user!, /^[0-9a-f]{64}$/, to)
  }
  match(sent('completions', 'converse', { user: '{"a":1}' }).rewrite.user!, /^[0-9a-f]{64}$/)
  equal(sent('completions', 'converse', { user: 'a@b' }).rewrite.user, 'a@b')
})

test('Bedrock gets a tool where the history has calls', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const messages = [HI, { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'a', content: 'r' }]
  const { rewrite, losses } = sent('completions', 'converse', { messages })
  deepEqual([rewrite.tools.length, losses.fields], [1, []])
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const echoed = { input: [{ type: 'item_reference', id: 'msg_1' }, HI] }
  deepEqual(sent('responses', 'converse', echoed).rewrite.tools, [])
  const none = sent('completions', 'converse', { messages, tools, tool_choice: 'none' })
  deepEqual([none.rewrite.tools[0]!.name, none.losses.fields], ['none', []])
})

test('Claude is not asked to think where it may not', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const body = { reasoning_effort: 'low', tools, tool_choice: 'required', max_tokens: 9000 }
  for (const to of ['messages', 'converse'] as const) {
    const forced = sent('completions', to, body)
    deepEqual([forced.rewrite.thinking, forced.losses.fields], [null, ['reasoning_effort']])
    const cool = sent('completions', to, { ...body, tool_choice: 'auto', temperature: 0.2 })
    deepEqual([cool.rewrite.sampling.temperature, cool.losses.kinds], [null, ['harmless']])
    ok(cool.rewrite.thinking !== null)
    const narrow = sent('completions', to, { ...body, tool_choice: 'auto', top_p: 0.5 })
    deepEqual([narrow.rewrite.sampling.topP, narrow.losses.fields], [null, ['top_p']])
    equal(sent('completions', to, { ...body, tool_choice: 'auto', top_p: 0.95 }).rewrite.sampling.topP, 0.95)
  }
})

describe("tools that the client runs are others' functions", () => {
  const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
  const ITEMS: readonly (readonly [type: string, call: JsonObject, output: JsonObject])[] = [
    [
      'custom',
      { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'a "b"\n' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'done' }
    ],
    [
      'local_shell',
      { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell_call_output', call_id: 'c', output: '{"a":1}' }
    ],
    [
      'shell',
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'x' }] }
    ],
    [
      'apply_patch',
      { type: 'apply_patch_call', call_id: 'c', operation: { type: 'delete_file', path: 'x' } },
      { type: 'apply_patch_call_output', call_id: 'c', status: 'failed', output: 'no' }
    ]
  ]
  const answerOf = (part: Conversation['turns'][number]['parts'][number]) => ({
    id: 'i',
    model: 'm',
    created: 0,
    choices: [{ parts: [part], stop: 'tools' as const, stopSequence: null, logprobs: null }],
    usage: null,
    serviceTier: null,
    origin: { format: 'messages' as const, unknownFields: new Map() }
  })

  for (const [type, call, output] of ITEMS) {
    test(`${type}: there and back, whole and streamed`, () => {
      const tool = type === 'custom' ? { type, name: 'patch', format: grammar } : { type }
      const name = type === 'custom' ? 'patch' : type
      for (const to of withTools('responses')) {
        const { body, losses } = sent('responses', to, { input: [HI, call, output], tools: [tool] })
        deepEqual([losses.fields, losses.kinds], [['tools[0]'], ['carried']], to)
        match(body, new RegExp(`"${name}"`))
      }
      const part = asFunctionPart({ kind: 'opaque', format: 'responses', value: call })
      ok(part?.kind === 'toolCall')
      const back = withClientCalls(answerOf(part), [[name, type]], 'responses').choices[0]!.parts[0]!
      ok(back.kind === 'opaque')
      const { id: _, status: __, ...item } = back.value
      deepEqual(item, call)
      const events: ChatEvent[] = []
      const write = (event: ChatEvent) => {
        events.push(event)
        return ''
      }
      const writer = clientCallsWriter({ write }, [[name, type]], 'responses')
      writer.write({ kind: 'begin', choice: 0, part: { ...part, arguments: '' } })
      for (const text of part.arguments) writer.write({ kind: 'delta', choice: 0, text, logprobs: null })
      writer.write({ kind: 'end', choice: 0 })
      deepEqual(events, [
        { kind: 'begin', choice: 0, part: back },
        { kind: 'end', choice: 0 }
      ])
    })
  }

  test('a call that was cut off is never a whole one: agents run these', () => {
    const cut = (input: string, type: string) => {
      const call = { kind: 'toolCall', id: 'c', name: 'x', arguments: input, signature: null, cache: null } as const
      const part = withClientCalls(answerOf(call), [['x', type]], 'responses').choices[0]!.parts[0]!
      return part.kind === 'opaque' ? [part.value.status, part.value.input ?? part.value.action] : part.kind
    }
    for (const [input, text] of [
      ['{"input":"line1\\nlin', 'line1\nlin'],
      ['{"input": "a\\u00e9\\', 'a\u00e9'],
      ['{"input":"a\\u00e', 'a'],
      ['{"inp', ''],
      ['no JSON', 'no JSON']
    ] as const)
      deepEqual(cut(input, 'custom'), ['incomplete', text], input)
    for (const [input, text] of [
      ['{"input":"ok"}', 'ok'],
      ['{"other":"ok"}', '{"other":"ok"}']
    ] as const)
      deepEqual(cut(input, 'custom'), ['completed', text], input)
    equal(cut('{"commands":["rm -rf /tm', 'shell'), 'toolCall')
    deepEqual(cut('{"commands":["ls"]}', 'shell'), ['completed', { commands: ['ls'] }])
    const events: ChatEvent[] = []
    const write = (event: ChatEvent) => String(events.push(event))
    const writer = clientCallsWriter({ write }, [['x', 'shell']], 'responses')
    const call = { kind: 'toolCall', id: 'c', name: 'x', arguments: '{"com', signature: null, cache: null } as const
    writer.write({ kind: 'begin', choice: 0, part: call })
    writer.write({ kind: 'end', choice: 0 })
    deepEqual(events, [
      { kind: 'begin', choice: 0, part: { ...call, arguments: '' } },
      { kind: 'delta', choice: 0, text: '{"com', logprobs: null },
      { kind: 'end', choice: 0 }
    ])
  })

  test('a function of the same name stays one', () => {
    const tools = [
      { type: 'custom', name: 'x' },
      { type: 'function', name: 'x', parameters: { type: 'object' } },
      { type: 'custom', name: 'y' }
    ]
    const read = FORMATS.responses.readRequest({ ...SMALLEST.responses, tools }, { model: 'm', isStreamed: false })
    deepEqual(clientToolsOf(read), [['y', 'custom']])
  })

  test('one of them is chosen as the function that it is told as', () => {
    for (const [tool, choice, name] of [
      [{ type: 'custom', name: 'apply' }, { type: 'custom', name: 'apply' }, 'apply'],
      [{ type: 'shell' }, { type: 'shell' }, 'shell']
    ] as const) {
      for (const to of withTools('responses')) {
        const { body, losses, rewrite } = sent('responses', to, { tools: [tool], tool_choice: choice })
        deepEqual(rewrite.toolChoice, { kind: 'tool', name, parallel: null })
        deepEqual(losses.fields, ['tools[0]', 'tool_choice'], to)
        deepEqual(losses.kinds, ['carried', 'carried'], to)
        match(body, new RegExp(name))
      }
    }
    deepEqual(sent('responses', 'messages', { tool_choice: { type: 'web_search' } }).losses.kinds, ['meaning'])
  })

  test('the result of a client tool stays text and images, and does not become JSON', () => {
    const image = 'data:image/png;base64,iVBORw0KGgo='
    const input = [
      HI,
      { type: 'custom_tool_call', call_id: 'c', name: 'look', input: 'x' },
      {
        type: 'custom_tool_call_output',
        call_id: 'c',
        output: [
          { type: 'input_text', text: 'seen' },
          { type: 'input_image', image_url: image }
        ]
      }
    ]
    const { body } = sent('responses', 'messages', { input, tools: [{ type: 'custom', name: 'look' }] })
    match(body, /"type":"image","source":\{"type":"base64","media_type":"image\/png","data":"iVBORw0KGgo="/)
    ok(!body.includes('input_image'), body)
  })

  test('a client tool with the name of a function is refused: their calls would be ambiguous', () => {
    const tools = [
      { type: 'function', name: 'patch', parameters: { type: 'object' } },
      { type: 'custom', name: 'patch' }
    ]
    ok(sent('responses', 'messages', { tools }).losses.kinds.includes('meaning'))
  })

  test('a custom tool of chat completions comes back as one, also in a stream', async (t) => {
    const models = await provider(t)
    const { ask } = await gateway(t, { provider: at('anthropic', models) })
    const tools = [{ type: 'custom', custom: { name: 'patch', description: 'p', format: grammar } }]
    const answer = await ask('/v1/chat/completions', { ...SMALLEST.completions, tools })
    const [call] = (await jsonOf(answer)).choices[0].message.tool_calls
    deepEqual([call.type, call.custom.name, answer.headers.get('x-weir-dropped')], ['custom', 'patch', 'tools[0]'])
    match(models.requests[0]!.body.tools[0].description, /grammar \(lark\)/)
    const streamed = await ask('/v1/chat/completions', { ...SMALLEST.completions, tools, stream: true })
    equal(streamed.headers.get('x-weir-dropped'), 'tools[0]')
    const chunks = parseEvents(await streamed.text()).flatMap(({ data }) =>
      data === '[DONE]' ? [] : [JSON.parse(data)]
    )
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    deepEqual([calls.length, calls[0].type, calls[0].index], [1, 'custom', 0])
  })
})
