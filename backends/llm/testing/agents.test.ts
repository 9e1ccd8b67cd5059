/**
 * What coding agents send, at providers of their own format and of others: Claude Code (Messages, token counts, the
 * list of models), and Codex (Responses, without a state at the provider). Made by hand after what they document.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { parseEvents } from '#engine/testing/sse.ts'
import { at, gateway, jsonOf, provider } from './llm-gateway.ts'

const ROUTES = {
  '/messages': 'Messages',
  '/count_tokens': 'AnthropicTokenCount',
  '/responses': 'Responses',
  '/models': 'Models',
  '*': 'Passthrough'
}
const mark = { cache_control: { type: 'ephemeral' } }
const SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { command: { type: 'string', description: 'What to run' }, timeout: { type: 'number' } },
  required: ['command'],
  additionalProperties: false
}

/** The second turn: the model has thought, and called two tools at once. */
const CLAUDE = {
  model: 'claude-opus-4-5',
  max_tokens: 32_000,
  stream: true,
  temperature: 1,
  metadata: { user_id: 'user_1_account__session_2' },
  thinking: { type: 'enabled', budget_tokens: 31_999 },
  system: [
    { type: 'text', text: 'You are an agent.', ...mark },
    { type: 'text', text: 'You work in a folder.', ...mark }
  ],
  tools: [
    { name: 'Bash', description: 'Runs a command.', input_schema: SCHEMA },
    { name: 'Read', description: 'Reads a file.', input_schema: SCHEMA }
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>x</system-reminder>' },
        { type: 'text', text: 'Hi' }
      ]
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_a', name: 'Bash', input: { command: 'ls' } },
        { type: 'tool_use', id: 'toolu_b', name: 'Read', input: { command: 'x' } }
      ]
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_a', content: 'a\nb' },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_b',
          is_error: true,
          content: [{ type: 'text', text: 'none' }],
          ...mark
        }
      ]
    }
  ]
}
const BETAS = 'claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14'
const CLAUDE_HEADERS = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': BETAS,
  'user-agent': 'claude-cli/2.1.0 (external, cli)',
  'x-app': 'cli',
  'x-api-key': 'none'
}

const call = (id: string) => ({ type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: id })
const CODEX = {
  model: 'gpt-5-codex',
  instructions: 'You are an agent.',
  input: [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'The sandbox is read-only.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Look.' }], encrypted_content: 'ZW5j' },
    call('call_a'),
    call('call_b'),
    { type: 'function_call_output', call_id: 'call_a', output: 'a' },
    { type: 'function_call_output', call_id: 'call_b', output: '{"output":"b","metadata":{"exit_code":0}}' }
  ],
  tools: [{ type: 'function', name: 'shell', description: 'Runs.', strict: false, parameters: SCHEMA }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0198-conversation',
  text: { verbosity: 'medium' }
}

async function started(t: TestContext, kind: string, more: object = {}) {
  const models = await provider(t)
  return { models, ...(await gateway(t, { provider: at(kind, models), routes: ROUTES, ...more })) }
}

/** What a provider is told of the two tools, of their two calls and of the two results. */
const SENT_PATTERNS = {
  anthropic: [/"name":"Bash".*"name":"Read"/, /"toolu_a".*"toolu_b".*"toolu_a".*"toolu_b"/],
  openai: [/"name":"Bash".*"name":"Read"/, /"tool_calls":.*"toolu_a".*"toolu_b".*"role":"tool".*"role":"tool"/],
  gemini: [/"name":"Bash".*"name":"Read"/, /"functionCall".*"functionCall".*"functionResponse".*"functionResponse"/]
} as const
const counted = ({ max_tokens, stream, metadata, temperature, ...body }: typeof CLAUDE) => body

for (const kind of ['anthropic', 'openai', 'gemini'] as const) {
  // A session that changes providers has thoughts of the first: they are left out.
  test(`Claude Code at ${kind}`, async (t) => {
    const { models, ask } = await started(t, kind)
    const response = await ask('/v1/messages?beta=true', CLAUDE, CLAUDE_HEADERS)
    equal(response.status, 200)
    const events = parseEvents(await response.text())
    const calls = events.flatMap(({ data }) => {
      const { type, content_block: block } = JSON.parse(data)
      return type === 'content_block_start' ? [block.name] : []
    })
    // The vendor's own client needs a usage from the first event on.
    const first = JSON.parse(events[0]!.data)
    ok(first.type === 'message_start' && typeof first.message.usage.input_tokens === 'number')
    deepEqual([calls, events.at(-1)!.name], [['Bash'], 'message_stop'])
    const { path, headers, bytes, body } = models.requests[0]!
    for (const pattern of SENT_PATTERNS[kind])
      match(JSON.stringify([body.tools, body.messages ?? body.contents]), pattern)
    if (kind === 'anthropic') {
      deepEqual([path, headers['anthropic-beta']], ['/v1/messages?beta=true', BETAS])
      equal(bytes.toString(), JSON.stringify(CLAUDE))
      equal(response.headers.get('x-weir-dropped'), null)
    } else equal(headers['anthropic-beta'], undefined)
    const count = await ask('/v1/messages/count_tokens?beta=true', counted(CLAUDE), CLAUDE_HEADERS)
    deepEqual(await jsonOf(count), { input_tokens: 12 })
    const list = await jsonOf(await ask('/v1/models?limit=1000', undefined, CLAUDE_HEADERS))
    deepEqual([list.data[0].type, list.data[0].id, list.has_more], ['model', 'demo', false])
  })

  test(`Codex at ${kind}`, async (t) => {
    const { models, ask } = await started(t, kind)
    const response = await ask('/v1/responses', CODEX)
    equal(response.status, 200)
    const events = parseEvents(await response.text()).map(({ data }) => JSON.parse(data))
    const { type, response: whole } = events.at(-1)
    equal(type, 'response.completed')
    const call = whole.output.find((item: { type: string }) => item.type === 'function_call')
    deepEqual([call.name, JSON.parse(call.arguments)], ['shell', { city: 'Paris' }])
    deepEqual([whole.usage.input_tokens, whole.usage.output_tokens], [12, 7])
    const { bytes, body } = models.requests[0]!
    if (kind === 'openai') equal(bytes.toString(), JSON.stringify(CODEX))
    else match(JSON.stringify(body), /read-only.*"shell".*"shell"|"shell".*"shell".*read-only/s)
    const strict = await started(t, kind, { unsupported: 'refuse' })
    const refused = await strict.ask('/v1/responses', CODEX)
    equal(refused.status, kind === 'openai' ? 200 : 400)
    if (kind !== 'openai') match((await jsonOf(refused)).error.message, /cannot be carried to .*unsupported: tolerant/)
  })
}
