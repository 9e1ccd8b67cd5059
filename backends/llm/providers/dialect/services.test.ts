/** What each service is sent, column by column: requests that it would refuse otherwise arrive as it takes them. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { COMPATIBLE, type CompatibleService, DIALECTS, type DialectName } from '#backends/llm/providers/compatible.ts'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Body } from '#engine/testing/models.ts'
import { type Dialect, EFFORTS, OPENAI } from './dialect.ts'

const ID = 'call_PTLP8xhu3uwZk4l3nlnrrJha'
const SCHEMA = { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'urn:x', type: 'object', properties: {} }
const tool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, parameters: SCHEMA, ...more }
})

/** As OpenAI's SDKs write messages back, with all that they know. */
const SPOKEN = { role: 'assistant', refusal: null, annotations: [], audio: null, function_call: null }
const HISTORY = [
  {
    role: 'developer',
    content: [
      { type: 'text', text: 'Be' },
      { type: 'text', text: 'brief' }
    ]
  },
  { role: 'user', content: 'Hi', name: 'ann' },
  { role: 'user', content: [{ type: 'text', text: 'there' }] },
  { ...SPOKEN, content: 'Ho', reasoning_content: 'hm' },
  { role: 'user', content: 'Look' },
  { ...SPOKEN, content: null, tool_calls: [{ id: ID, type: 'function', function: { name: 'a', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: ID, content: [{ type: 'text', text: 'seen' }] }
]

const RICH = {
  model: 'm',
  stream: true,
  stream_options: { include_usage: true },
  max_completion_tokens: 9,
  seed: 7,
  reasoning_effort: 'xhigh',
  ...{ user: 'u', metadata: { a: 'b' }, store: true, service_tier: 'auto', safety_identifier: 's', n: 1, top_k: 3 },
  ...{ logit_bias: { 5: 1 }, logprobs: true, top_logprobs: 2, frequency_penalty: 1, presence_penalty: 1 },
  ...{ prompt_cache_key: 'k', verbosity: 'low', modalities: ['text'], parallel_tool_calls: false },
  response_format: { type: 'json_schema', json_schema: { name: 'o', schema: SCHEMA } },
  tools: [tool('a', { strict: true }), tool('b')],
  tool_choice: { type: 'function', function: { name: 'a' } },
  messages: HISTORY
}

/** The same from a client of another format. */
const FOREIGN = {
  model: 'm',
  max_tokens: 2048,
  stream: true,
  thinking: { type: 'enabled', budget_tokens: 1024 },
  metadata: { user_id: 'u' },
  system: [
    { type: 'text', text: 'Be' },
    { type: 'text', text: 'brief' }
  ],
  tools: [
    { name: 'a', input_schema: SCHEMA, strict: true },
    { name: 'b', input_schema: SCHEMA }
  ],
  tool_choice: { type: 'any' },
  messages: [
    { role: 'user', content: 'Look' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'tool_use', id: ID, name: 'a', input: {} }
      ]
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: ID, content: 'seen' }] },
    { role: 'assistant', content: 'So' }
  ]
}

const messagesOf = ({ messages }: Body): Body[] => messages
const everywhere = (body: Body, name: string): boolean => JSON.stringify(body).includes(`"${name}":`)

/** By column: what must hold of everything that is sent, where the column has `value`. */
const HOLDS: { readonly [K in keyof Dialect]: (sent: Body, value: Dialect[K], isOwn: boolean) => void } = {
  streamOptions: (sent, value) => equal(sent.stream_options !== undefined, value),
  limit: (sent, value) =>
    ok(sent[value] > 0 && sent[value === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'] === undefined),
  thoughts: (sent, value) => {
    const found = messagesOf(sent)
      .filter(({ role }) => role === 'assistant')
      .map(thoughtOf)
    ok(value === 'none' ? found.every((one) => one === null) : found.includes(`${value}: hm`), found.join())
  },
  needsThoughts: (sent, value) => {
    if (value)
      for (const one of messagesOf(sent)) ok(one.tool_calls === undefined || one.reasoning_content !== undefined)
  },
  developer: (sent, value, isOwn) => equal(messagesOf(sent)[0]!.role, value && isOwn ? 'developer' : 'system'),
  textLists: (sent, value) => {
    const areTexts = messagesOf(sent).every(
      ({ content }) => !Array.isArray(content) || content.some(({ type }) => type !== 'text')
    )
    if (!value) ok(areTexts)
  },
  alternating: (sent, value) => {
    const roles = messagesOf(sent).map(({ role }) => role)
    if (value)
      ok(
        roles.every((role, i) => role !== 'user' || roles[i - 1] !== 'user'),
        roles.join()
      )
  },
  effort: (sent, value) => {
    if (value === 'thinking') deepEqual(sent.thinking, { type: 'enabled' })
    if (value === 'enable_thinking') ok(sent.enable_thinking === true && sent.thinking_budget > 0)
    if (value === 'reasoning_effort') ok(EFFORTS.includes(sent.reasoning_effort))
  },
  efforts: (sent, value) => {
    if (value.length > 0) ok(value.includes(sent.reasoning_effort), sent.reasoning_effort)
  },
  outputs: (sent, value, isOwn) => {
    if (!isOwn) return
    ok(value.includes(sent.response_format.type))
    const isInWords = JSON.stringify(messagesOf(sent)[0]).includes('JSON Schema')
    equal(isInWords, !value.includes('json_schema'))
  },
  forcedTool: (sent, value, isOwn) => {
    if (!isOwn || value === 'none') equal(sent.tool_choice, value === 'none' ? undefined : value)
  },
  namedTool: (sent, value, isOwn) => {
    if (value || !isOwn) return
    deepEqual([sent.tool_choice, sent.tools.length], ['required', 1])
  },
  strictTools: (sent, value) => {
    const strict = sent.tools.map((one: Body) => one.function.strict)
    if (value !== 'mixed') ok(strict.every((one: unknown) => one === undefined))
  },
  callIds: (sent, value) => {
    const ids = messagesOf(sent).flatMap(({ tool_call_id: id, tool_calls: calls = [] }) => [
      id,
      ...calls.map((one: Body) => one.id)
    ])
    const known = ids.filter((id) => id !== undefined)
    equal(new Set(known).size, 1)
    if (value === 'alphanumeric9') match(known[0], /^[a-zA-Z0-9]{9}$/)
    else equal(known[0], ID)
  },
  seed: (sent, value, isOwn) => {
    if (isOwn) equal(sent[value], 7)
  },
  prefill: (sent, value, isOwn) => {
    const last = messagesOf(sent).at(-1)!
    const { partial, prefix } = last
    const { continue_final_message: continues, add_generation_prompt: prompts } = sent
    const isMarked = !isOwn && value !== 'none' && value !== 'unmarked'
    const isOf = (mark: string) => (isMarked && value === mark ? true : undefined)
    deepEqual([partial, prefix, continues], [isOf('partial'), isOf('prefix'), isOf('continue_final_message')])
    if (isMarked) equal(last.role, 'assistant')
    equal(prompts, continues === undefined ? undefined : false)
  },
  refuses: (sent, value) => {
    for (const name of value) equal(sent[name], undefined, name)
  },
  refusesInMessages: (sent, value) => {
    for (const name of value)
      ok(
        messagesOf(sent).every((one) => one[name] === undefined),
        name
      )
  },
  refusesInSchemas: (sent, value) => {
    for (const name of value) ok(!everywhere(sent, name), name)
  }
}

function thoughtOf({ reasoning_content: one, reasoning: two, content }: Body): string | null {
  if (one !== undefined && one !== ' ') return `reasoning_content: ${one}`
  if (two !== undefined) return `reasoning: ${two}`
  const part = Array.isArray(content) ? content.find(({ type }) => type === 'thinking') : undefined
  return part === undefined ? null : `content: ${part.thinking[0].text}`
}

/** A service without tools is asked without a history of calls. */
function requestFor(name: DialectName, body: typeof RICH | typeof FOREIGN): object {
  const { dialect }: CompatibleService = COMPATIBLE[name]
  if (dialect?.refuses?.includes('tools') !== true) return body
  const { tools: _, tool_choice: __, messages, ...rest } = body
  return { ...rest, messages: (messages as JsonObject[]).filter(isSpoken) }
}

const isSpoken = ({ role, content, tool_calls: calls }: JsonObject): boolean =>
  role !== 'tool' && calls === undefined && !JSON.stringify(content as Json).includes('"tool_')

async function before(t: TestContext, dialect: unknown, more: object = {}) {
  const models = await provider(t)
  const routes = { '/messages': 'Messages', '/responses': 'Responses', '*': 'Completions' }
  const { ask } = await gateway(t, { provider: at('custom', models, { dialect }), routes, ...more })
  const sent = async (
    path: string,
    body: object
  ): Promise<[status: number, sent: Body, dropped: string, text: string]> => {
    models.requests.length = 0
    const answer = await ask(path, body)
    return [answer.status, models.requests[0]?.body, answer.headers.get('x-weir-dropped') ?? '', await answer.text()]
  }
  return { models, ask, sent }
}

const COLUMNS = Object.keys(HOLDS) as (keyof Dialect)[]

test('each service gets what it takes, from clients of its format and of others', async (t) => {
  for (const name of DIALECTS) {
    await t.test(name, async (t) => {
      const { sent } = await before(t, name, { unsupported: 'drop' })
      const dialect = dialectFor(name, '')
      const lacksTools = dialect.refuses.includes('tools')
      for (const [path, body] of [
        ['/v1/chat/completions', RICH],
        ['/v1/messages', FOREIGN]
      ] as const) {
        const isOwn = body === RICH
        const [status, got, , text] = await sent(path, requestFor(name, body))
        equal(status, 200, text)
        for (const column of COLUMNS) {
          if (lacksTools && ['forcedTool', 'namedTool', 'strictTools', 'callIds', 'needsThoughts'].includes(column))
            continue
          HOLDS[column](got, dialect[column] as never, isOwn)
        }
      }
    })
  }
})

test('a service that differs in nothing gets the bytes of its client', async (t) => {
  const { models, sent } = await before(t, 'openai')
  await sent('/v1/chat/completions', RICH)
  equal(models.requests[0]!.bytes.toString(), JSON.stringify(RICH))
})

// --- what is noted, and what is refused ---

const HI = [{ role: 'user', content: 'Hi' }]

const REFUSALS: readonly (readonly [service: DialectName, body: object, field: string])[] = [
  ['groq', { n: 2 }, 'n'],
  ['groq', { logit_bias: { 5: 1 } }, 'logit_bias'],
  ['zai', { tools: [tool('a')], tool_choice: 'required' }, 'tool_choice'],
  ['zai', { tools: [tool('a')], tool_choice: { type: 'function', function: { name: 'a' } } }, 'tool_choice'],
  ['perplexity', { tools: [tool('a')] }, 'tools'],
  ['cerebras', { frequency_penalty: 1 }, 'frequency_penalty'],
  ['mistral', { functions: [{ name: 'a' }] }, 'functions']
]

test('what means something and has no place is refused by name, and left out only when that is wanted', async (t) => {
  for (const [service, body, field] of REFUSALS) {
    const tolerant = await before(t, service)
    const [status, sent, , text] = await tolerant.sent('/v1/chat/completions', { model: 'm', messages: HI, ...body })
    deepEqual([status, sent, JSON.parse(text).error.param], [400, undefined, field], text)
    const dropping = await before(t, service, { unsupported: 'drop' })
    const [after, got, dropped] = await dropping.sent('/v1/chat/completions', { model: 'm', messages: HI, ...body })
    deepEqual([after, got[field], dropped], [200, undefined, field])
  }
})

test('what means nothing is left out with a note, and what says nothing without one', async (t) => {
  const { sent } = await before(t, 'mistral')
  const body = { model: 'm', store: true, metadata: { a: 'b' }, user: 'u', n: 1, logit_bias: null, top_logprobs: null }
  const [status, got, dropped] = await sent('/v1/chat/completions', { ...body, messages: HISTORY.slice(0, 4) })
  equal(status, 200)
  deepEqual(dropped.split(', '), ['store', 'metadata', 'user', 'messages[1].name'])
  deepEqual(Object.keys(got).toSorted(), ['messages', 'model', 'n'])
  const strict = await before(t, 'mistral', { unsupported: 'refuse' })
  const [refused, , , text] = await strict.sent('/v1/chat/completions', { model: 'm', messages: HI, user: 'u' })
  deepEqual([refused, JSON.parse(text).error.param], [400, 'user'])
})

test('places are those of the client, whatever the configuration puts ahead of its messages', async (t) => {
  const prompt = { prepend: [{ role: 'system', content: 'Ahead' }] }
  const { sent } = await before(t, 'groq', { prompt })
  const [, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages: [{ ...HI[0], name: 'ann' }] })
  equal(got.messages.length, 2)
  equal(dropped, 'messages[0].name')
})

test('a refusal of the model stays in what it has said', async (t) => {
  const { sent } = await before(t, 'groq')
  const messages = [...HI, { role: 'assistant', content: null, refusal: 'No.' }, ...HI]
  const [, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages })
  deepEqual([got.messages[1], dropped], [{ role: 'assistant', content: 'No.' }, ''])
})

test('an effort is the nearest that the service knows', async (t) => {
  const cases = [
    ['mistral', 'minimal', { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['mistral', 'none', { reasoning_effort: 'none' }, ''],
    ['deepseek', 'none', { thinking: { type: 'disabled' } }, ''],
    ['deepseek', 'medium', { thinking: { type: 'enabled' }, reasoning_effort: 'medium' }, ''],
    ['zai', 'medium', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }, 'reasoning_effort'],
    ['moonshot', 'none', { thinking: { type: 'disabled' } }, ''],
    ['alibaba', 'none', { enable_thinking: false }, ''],
    ['alibaba', 'low', { enable_thinking: true, thinking_budget: 1024 }, ''],
    ['cerebras', 'none', {}, 'reasoning_effort'],
    ['groq', 'default', { reasoning_effort: 'default' }, ''],
    ['vllm', 'max', { reasoning_effort: 'high' }, 'reasoning_effort']
  ] as const
  for (const [service, effort, expected, note] of cases) {
    const { sent } = await before(t, service)
    const [, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages: HI, reasoning_effort: effort })
    const { model: _, messages: __, ...rest } = got
    deepEqual([rest, dropped], [expected, note], `${service} ${effort}`)
  }
  // What the client says in the service's own words stays.
  const { sent } = await before(t, 'deepseek')
  const own = { thinking: { type: 'disabled' }, reasoning_effort: 'high' }
  deepEqual((await sent('/v1/chat/completions', { model: 'm', messages: HI, ...own }))[1].thinking, own.thinking)
})

test('a form of answer that a service does not know is told to the model', async (t) => {
  const object = { type: 'json_object' }
  const schema = { type: 'json_schema', json_schema: { name: 'o', schema: { type: 'array' } } }
  for (const [service, format, expected, isInWords] of [
    ['deepseek', schema, object, true],
    ['deepseek', object, object, false],
    ['lmstudio', object, { type: 'json_schema', json_schema: { name: 'output', schema: { type: 'object' } } }, false],
    ['lmstudio', schema, schema, false],
    [{ outputs: [] }, object, undefined, true],
    [{ outputs: [] }, { type: 'text' }, { type: 'text' }, false]
  ] as const) {
    const { sent } = await before(t, service)
    const [, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages: HI, response_format: format })
    deepEqual(got.response_format, expected)
    equal(JSON.stringify(got.messages).includes('JSON object'), isInWords)
    equal(dropped, JSON.stringify(format) === JSON.stringify(expected) ? '' : 'response_format')
  }
})

test('keywords of schemas are left out where they are keywords', async (t) => {
  const { sent } = await before(t, { refusesInSchemas: ['$$schema', 'minItems'] })
  const list = { type: 'array', minItems: 1, items: { $schema: 'x', enum: [{ minItems: 1 }] } }
  const parameters = { type: 'object', properties: { minItems: { type: 'string' }, list }, default: { minItems: 2 } }
  const tools = [{ type: 'function', function: { name: 'f', parameters } }, tool('a')]
  const [, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages: HI, tools })
  const left = { type: 'array', items: { enum: [{ minItems: 1 }] } }
  const properties = { minItems: { type: 'string' }, list: left }
  deepEqual(got.tools[0].function.parameters, { type: 'object', properties, default: { minItems: 2 } })
  // $schema allows no less.
  deepEqual([got.tools[1].function.parameters.$schema, dropped], [undefined, 'tools[0]'])
})

test('a file changes a dialect, of a name or of none', async (t) => {
  const own = await before(t, { base: 'mistral', limit: 'max_completion_tokens', refuses: ['user'] })
  const body = { model: 'm', messages: HI, max_completion_tokens: 5, store: true, user: 'u' }
  const [, got] = await own.sent('/v1/chat/completions', body)
  deepEqual([got.max_completion_tokens, got.store, got.user], [5, true, undefined])
  const [, unnamed] = await (await before(t, { textLists: false })).sent('/v1/chat/completions', RICH)
  deepEqual([unnamed.messages[0], unnamed.user], [{ role: 'developer', content: 'Be\nbrief' }, 'u'])
})

test('mistakes in a dialect are told by their place', async (t) => {
  const models = await provider(t)
  const tell = async (dialect: unknown): Promise<string> => {
    try {
      await gateway(t, { provider: at('custom', models, { dialect }) })
    } catch (error) {
      return String(error)
    }
    return 'taken'
  }
  match(await tell('mistrall'), /dialect.*mistral/s)
  match(await tell({ base: 'vlm' }), /dialect\.base/)
  match(await tell({ limt: 'max_tokens' }), /limt.*limit/s)
  match(await tell({ efforts: ['strong'] }), /dialect\.efforts\[0\]/)
  match(await tell({}), /dialect/)
})

test('an OpenAI row differs in nothing, and no row repeats what is usual', () => {
  equal(dialectFor('openai', ''), OPENAI)
  for (const [name, { dialect = {} }] of Object.entries<CompatibleService>(COMPATIBLE)) {
    for (const [column, value] of Object.entries(dialect)) {
      const usual = OPENAI[column as keyof Dialect]
      ok(JSON.stringify(usual) !== JSON.stringify(value), `${name}: ${column}`)
    }
  }
})

test('large requests are written the same elsewhere', async (t) => {
  const { sent } = await before(t, 'mistral')
  const long = [{ role: 'developer', content: 'x'.repeat(300_000), name: 'ann' }, ...HI]
  const [status, got, dropped] = await sent('/v1/chat/completions', { model: 'm', messages: long, seed: 1 })
  deepEqual([status, got.random_seed, got.messages[0].role, dropped], [200, 1, 'system', 'messages[0].name'])
  const answer = await (await before(t, 'groq')).ask('/v1/chat/completions', { model: 'm', messages: long, n: 3 })
  deepEqual([answer.status, (await jsonOf(answer)).error.param], [400, 'n'])
})
