/**
 * Coding agents as they ask, turn by turn, after their public sources: Claude Code (the Messages API with its betas)
 * and Codex (Responses, without a state at the provider).
 */
import type { Body } from '#backends/demo/models/wire.ts'
import { MARKS } from './doubles/double.ts'
import { conclude, type Loop, PARAMETERS, results } from './sdk-loops.ts'

const mark = { cache_control: { type: 'ephemeral' } }

async function post(url: string, headers: Record<string, string>, body: object): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  return response
}

/** The events of a stream, in order. */
async function eventsOf(response: Response): Promise<Body[]> {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

const CLAUDE_HEADERS = {
  'x-api-key': 'k',
  'anthropic-version': '2023-06-01',
  'anthropic-beta':
    'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05',
  'anthropic-dangerous-direct-browser-access': 'true',
  'user-agent': 'claude-cli/2.1.30 (external, cli)',
  'x-app': 'cli',
  'x-stainless-lang': 'js'
}

const SCHEMA = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...PARAMETERS }
const SESSION = JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: crypto.randomUUID() })

function claudeBody(messages: Body[]): Body {
  return {
    model: 'claude-opus-4-6',
    max_tokens: 32_000,
    stream: true,
    temperature: 1,
    metadata: { user_id: SESSION },
    thinking: { type: 'enabled', budget_tokens: 31_999 },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.30; cc_entrypoint=cli' },
      { type: 'text', text: "You are Claude Code, Anthropic's official CLI for Claude.", ...mark },
      { type: 'text', text: `You work in a folder. ${MARKS.system}`, ...mark }
    ],
    tools: [
      { name: 'get_weather', description: 'Tells the weather.', input_schema: SCHEMA, eager_input_streaming: true },
      { name: 'get_time', description: 'Tells the time.', input_schema: SCHEMA, ...mark }
    ],
    messages
  }
}

/** What the client makes of a stream of Messages. */
function assembled(events: readonly Body[]): Body[] {
  const blocks: Body[] = []
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...block, json: '' }
    if (type !== 'content_block_delta') continue
    const open = blocks[index]
    if (delta.type === 'text_delta') open.text += delta.text
    else if (delta.type === 'thinking_delta') open.thinking += delta.thinking
    else if (delta.type === 'signature_delta') open.signature = delta.signature
    else if (delta.type === 'input_json_delta') open.json += delta.partial_json
  }
  return blocks.map(({ json, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json === '' ? '{}' : json) } : block
  )
}

export const claudeCode: Loop = async (base) => {
  const reminder = '<system-reminder>\nAs you answer, you can use the following context.\n</system-reminder>'
  const texts = [reminder, `What is the weather, and what time is it? ${MARKS.user}`]
  const messages: Body[] = [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }]
  const result = results()
  for (let turn = 0; turn < 4; turn++) {
    const body = claudeBody(messages)
    const last = messages.at(-1)!.content
    last[last.length - 1] = { ...last.at(-1), ...mark }
    const blocks = assembled(await eventsOf(await post(`${base}/v1/messages?beta=true`, CLAUDE_HEADERS, body)))
    delete last.at(-1).cache_control
    messages.push({ role: 'assistant', content: blocks })
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    if (calls.length === 0) return conclude(blocks.map(({ text = '' }) => text).join(''))
    const content = calls.map(({ id }, i) => {
      const text = result.next().value
      return { tool_use_id: id, type: 'tool_result', content: i === 0 ? text : [{ type: 'text', text }] }
    })
    messages.push({ role: 'user', content })
  }
  throw new Error('no answer')
}

/** Where the provider counts. */
export const claudeCount: Loop = async (base) => {
  const { max_tokens, stream, temperature, metadata, context_management, ...body } = claudeBody([
    { role: 'user', content: MARKS.user }
  ])
  const response = await post(`${base}/v1/messages/count_tokens?beta=true`, CLAUDE_HEADERS, body)
  const { input_tokens: tokens } = (await response.json()) as Body
  if (tokens !== 12) throw new Error(`the count is ${tokens}`)
}

const GRAMMAR = 'start: begin_patch hunk+ end_patch\nbegin_patch: "*** Begin Patch" LF\nend_patch: "*** End Patch" LF?'
const CODEX_HEADERS = { authorization: 'Bearer k', originator: 'codex_cli_rs', session_id: crypto.randomUUID() }

function codexBody(input: Body[]): Body {
  const text = (content: string) => [{ type: 'input_text', text: content }]
  return {
    model: 'gpt-5-codex',
    instructions: `You are a coding agent. ${MARKS.system}`,
    input: [
      { type: 'message', role: 'developer', content: text('<permissions>The sandbox is read-only.</permissions>') },
      { type: 'message', role: 'user', content: text('<environment_context><cwd>x</cwd></environment_context>') },
      { type: 'message', role: 'user', content: text(`[custom] Make it so. ${MARKS.user}`) },
      ...input
    ],
    tools: [
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Edits files.',
        format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR }
      },
      { type: 'function', name: 'shell', description: 'Runs.', strict: false, parameters: PARAMETERS },
      { type: 'local_shell' },
      { type: 'web_search', external_web_access: false }
    ],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: crypto.randomUUID(),
    text: { verbosity: 'medium' },
    client_metadata: { installation: 'x' }
  }
}

/** A custom tool is called, and its call comes back as one; instructions come in the middle. */
export const codex: Loop = async (base) => {
  const ask = async (input: Body[]): Promise<Body[]> => {
    const events = await eventsOf(await post(`${base}/v1/responses`, CODEX_HEADERS, codexBody(input)))
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
    if (events.at(-1)?.type !== 'response.completed') throw new Error(`the stream ends with ${events.at(-1)?.type}`)
    return done
  }
  const first = await ask([])
  const call = first.find(({ type }) => type === 'custom_tool_call')
  if (call?.name !== 'apply_patch' || call.input !== 'MARK-PATCH')
    throw new Error(`the call is ${JSON.stringify(first)}`)
  const output = { type: 'custom_tool_call_output', call_id: call.call_id, output: MARKS.results[0] }
  const middle = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'MARK-MIDDLE' }] }
  const need = { type: 'message', role: 'user', content: [{ type: 'input_text', text: '[needs:middle,patch] Go on.' }] }
  const second = await ask([...first.map(({ id: _, ...item }) => item), output, middle, need])
  const message = second.find(({ type }) => type === 'message')
  conclude(message?.content?.[0]?.text)
}
