/** Anthropic's Messages ("Create a Message"): what is not named there is refused, in every object. */
import type { Body } from '#backends/demo/models/wire.ts'
import { type Double, eventOf, events, type ModelReply, pieces, whole } from './double.ts'
import * as s from './shape.ts'

const MARK = { cache_control: s.object({ 'type!': s.words('ephemeral'), ttl: s.words('5m', '1h') }) }
const IMAGES = s.words('image/jpeg', 'image/png', 'image/gif', 'image/webp')
const URL = { 'url!': s.matching(/^https?:/) }
const TEXT = { 'text!': s.filled, citations: s.list(s.anything), ...MARK }
const IMAGE = {
  'source!': s.tagged('type', { base64: { 'media_type!': IMAGES, 'data!': s.text }, url: URL }),
  ...MARK
}
const DOCUMENT = {
  'source!': s.tagged('type', {
    base64: { 'media_type!': s.words('application/pdf'), 'data!': s.text },
    text: { 'media_type!': s.words('text/plain'), 'data!': s.text },
    url: URL
  }),
  title: s.text,
  context: s.text,
  citations: s.map,
  ...MARK
}
const INNER = s.tagged('type', { text: TEXT, image: IMAGE, document: DOCUMENT })
const ID = s.matching(/^[a-zA-Z0-9_-]+$/)
const BLOCK = s.tagged('type', {
  text: TEXT,
  image: IMAGE,
  document: DOCUMENT,
  tool_use: { 'id!': ID, 'name!': s.matching(/^[a-zA-Z0-9_-]{1,200}$/), 'input!': s.map, caller: s.map, ...MARK },
  tool_result: { 'tool_use_id!': ID, content: s.either(s.text, s.list(INNER)), is_error: s.flag, ...MARK },
  thinking: { 'thinking!': s.text, 'signature!': s.matching(/^(?:EqQB|ErUB)/) },
  redacted_thinking: { 'data!': s.text }
})
const TOOL = s.tagged(
  'type',
  {
    custom: {
      'name!': s.matching(/^[a-zA-Z0-9_-]{1,128}$/),
      description: s.text,
      'input_schema!': (value, at, faults) => {
        if ((value as Body)?.type !== 'object') faults.push(`${at}.type: must be 'object'`)
      },
      strict: s.flag,
      eager_input_streaming: s.flag,
      ...MARK
    },
    web_search_20250305: { 'name!': s.words('web_search'), max_uses: s.number }
  },
  'custom'
)
const CHOICE = { disable_parallel_tool_use: s.flag }
const DISPLAY = { display: s.words('summarized', 'omitted') }
const BODY = s.object({
  'model!': s.text,
  'max_tokens!': s.within(1, 128_000),
  'messages!': s.list(
    s.object({ 'role!': s.words('user', 'assistant', 'system'), 'content!': s.either(s.filled, s.list(BLOCK, 1)) }),
    1
  ),
  system: s.either(s.filled, s.list(s.tagged('type', { text: TEXT }))),
  tools: s.list(TOOL),
  tool_choice: s.tagged('type', { auto: CHOICE, any: CHOICE, tool: { 'name!': s.text, ...CHOICE }, none: {} }),
  stop_sequences: s.list(s.filled),
  stream: s.flag,
  temperature: s.within(0, 1),
  top_p: s.within(0, 1),
  top_k: s.number,
  thinking: s.tagged('type', {
    enabled: { 'budget_tokens!': s.within(1024, 128_000), ...DISPLAY },
    adaptive: DISPLAY,
    disabled: {}
  }),
  output_config: s.object({
    effort: s.words('low', 'medium', 'high', 'xhigh', 'max'),
    format: s.tagged('type', { json_schema: { 'schema!': s.map } })
  }),
  metadata: s.object({ user_id: s.matching(/^.{0,256}$/s) }),
  service_tier: s.words('auto', 'standard_only'),
  context_management: s.map,
  anthropic_version: s.text
})

const usesOf = (message: Body): string[] =>
  Array.isArray(message?.content)
    ? message.content.filter((block: Body) => block.type === 'tool_use').map(({ id }: Body) => id)
    : []
const resultsOf = (message: Body): string[] => {
  const list: Body[] = Array.isArray(message?.content) ? message.content : []
  const end = list.findIndex(({ type }) => type !== 'tool_result')
  return list.slice(0, end < 0 ? list.length : end).map((block) => block.tool_use_id)
}

function orderOf({ messages }: Body): string | null {
  for (const [i, message] of messages.entries()) {
    if (message.role === 'system' && i === 0) return 'messages[0]: a system message may not be the first'
    const missing = usesOf(message).find((id) => !resultsOf(messages[i + 1]).includes(id))
    if (missing !== undefined)
      return `messages[${i}]: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing}`
    const odd = message.role === 'user' && resultsOf(message).find((id) => !usesOf(messages[i - 1]).includes(id))
    if (odd) return `messages[${i}]: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${odd}`
  }
  return null
}

/** "Extended thinking": what it is not compatible with. */
function thinkingFault({ thinking, temperature, top_k, tool_choice, max_tokens, messages }: Body): string | null {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return null
  if ((temperature ?? 1) !== 1 || (top_k ?? null) !== null) return '`temperature` may only be set to 1 with thinking'
  if (['any', 'tool'].includes(tool_choice?.type))
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  if (thinking.type === 'adaptive') return null
  if (thinking.budget_tokens >= max_tokens) return '`max_tokens` must be greater than `thinking.budget_tokens`'
  const last = messages.findLastIndex(({ role }: Body) => role === 'assistant')
  const isOfLoop = last >= 0 && usesOf(messages[last]).length > 0
  if (isOfLoop && !/thinking$/.test(messages[last].content[0].type))
    return `messages[${last}]: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\``
  return null
}

const USAGE = {
  input_tokens: 100,
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 0 },
  output_tokens: 30,
  service_tier: 'standard'
}

function blocksOf(reply: ModelReply): Body[] {
  const thought = { type: 'thinking', thinking: reply.thoughts, signature: 'EqQBCkgIBBABGAIqQA==' }
  return [
    ...(reply.thoughts === null ? [] : [thought]),
    ...(reply.text === '' ? [] : [{ type: 'text', text: reply.text }]),
    ...reply.calls.map(({ id, name, input }) => ({
      type: 'tool_use',
      id: `toolu_0${id}`,
      name,
      input: JSON.parse(input)
    }))
  ]
}

const headOf = (body: Body) => ({ id: 'msg_01', type: 'message', role: 'assistant', model: body.model ?? 'claude' })

function deltasOf(block: Body): object[] {
  if (block.type === 'text') return pieces(block.text).map((text) => ({ type: 'text_delta', text }))
  if (block.type === 'tool_use')
    return ['', ...pieces(JSON.stringify(block.input))].map((part) => ({
      type: 'input_json_delta',
      partial_json: part
    }))
  const thoughts = pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }))
  return [...thoughts, { type: 'signature_delta', signature: block.signature }]
}

const EMPTY: { readonly [type: string]: object } = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} }
}

function streamed(reply: ModelReply, body: Body, reason: string): string[] {
  const start = { ...headOf(body), content: [], stop_reason: null, stop_sequence: null, usage: USAGE }
  const list: Body[] = [{ type: 'message_start', message: start }]
  for (const [index, block] of blocksOf(reply).entries()) {
    list.push({ type: 'content_block_start', index, content_block: { ...block, ...EMPTY[block.type] } })
    if (index === 0) list.push({ type: 'ping' })
    for (const delta of deltasOf(block)) list.push({ type: 'content_block_delta', index, delta })
    list.push({ type: 'content_block_stop', index })
  }
  list.push({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: USAGE })
  list.push({ type: 'message_stop' })
  return list.map((event) => eventOf(event, event.type))
}

/** `path`: of Vertex AI, where it says whether the answer is a stream. */
export const messages: Double = {
  refuses: (body, path) => {
    const named = path.includes('/publishers/') ? { model: 'claude', ...body } : body
    return s.faultOf(BODY, named) ?? orderOf(body) ?? thinkingFault(body)
  },
  facts: (body, path) => ({
    tools: (body.tools ?? []).map(({ name }: Body) => name),
    results: body.messages.reduce((sum: number, message: Body) => sum + resultsOf(message).length, 0),
    forced: body.tool_choice?.type === 'any' ? '' : (body.tool_choice?.name ?? null),
    mayCall: body.tool_choice?.type !== 'none',
    thinks: ['enabled', 'adaptive'].includes(body.thinking?.type),
    isStreamed: body.stream === true || path.includes(':streamRawPredict')
  }),
  answer: (reply, body, { isStreamed }) => {
    const reason = reply.calls.length > 0 ? 'tool_use' : 'end_turn'
    if (isStreamed) return events(streamed(reply, body, reason))
    const content = blocksOf(reply)
    return whole({ ...headOf(body), content, stop_reason: reason, stop_sequence: null, usage: USAGE })
  },
  error: (_, message) => ({ type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_01' })
}
