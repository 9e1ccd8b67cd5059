/** Chat completions of OpenAI (API reference, "Create chat completion"), with the thoughts that vLLM and others add. */
import type { Body } from '#backends/demo/models/wire.ts'
import { type Double, eventOf, events, type ModelReply, pieces, whole } from './double.ts'
import * as s from './shape.ts'

const NAME = s.matching(/^[a-zA-Z0-9_-]{1,64}$/)
const ID = s.matching(/^.{1,64}$/)
const TEXT = { text: s.text, cache_control: s.anything, prompt_cache_breakpoint: s.anything }
const PARTS = s.tagged('type', {
  text: { ...TEXT, 'text!': s.text },
  image_url: { 'image_url!': s.object({ 'url!': s.matching(/^(?:https?:|data:image\/\w+;base64,)/), detail: s.text }) },
  input_audio: { 'input_audio!': s.object({ 'data!': s.text, 'format!': s.words('wav', 'mp3') }) },
  file: {
    'file!': s.either(s.object({ 'file_data!': s.text, 'filename!': s.text }), s.object({ 'file_id!': s.text }))
  },
  refusal: { 'refusal!': s.text },
  thinking: { thinking: s.text, signature: s.text }
})
const CONTENT = s.either(s.text, s.list(PARTS, 1))
const FUNCTION_CALL = { 'name!': NAME, 'arguments!': s.text, parsed_arguments: s.anything }
const CALL = s.tagged('type', {
  function: {
    'id!': ID,
    'function!': s.object(FUNCTION_CALL),
    index: s.number,
    extra_content: s.anything,
    provider_specific_fields: s.anything
  },
  custom: { 'id!': ID, 'custom!': s.object({ 'name!': NAME, 'input!': s.text }) }
})
/** Of messages: servers ignore what SDKs leave in them. */
const ECHOES = {
  name: s.text,
  annotations: s.anything,
  audio: s.anything,
  parsed: s.anything,
  provider_specific_fields: s.anything,
  reasoning_content: s.text,
  reasoning: s.text,
  thinking_blocks: s.anything,
  reasoning_items: s.anything,
  images: s.anything
}
const MESSAGE = s.tagged('role', {
  system: { 'content!': CONTENT, name: s.text },
  developer: { 'content!': CONTENT, name: s.text },
  user: { 'content!': CONTENT, name: s.text },
  assistant: { content: CONTENT, refusal: s.text, tool_calls: s.list(CALL, 1), function_call: s.map, ...ECHOES },
  tool: { 'content!': CONTENT, 'tool_call_id!': ID, name: s.text, cache_control: s.anything }
})
const FUNCTION = s.object({ 'name!': NAME, description: s.text, parameters: s.map, strict: s.flag })
const TOOL = s.tagged('type', {
  function: { 'function!': FUNCTION, cache_control: s.anything },
  custom: { 'custom!': s.object({ 'name!': NAME, description: s.text, format: s.map }) }
})
const FORMAT = s.tagged('type', {
  text: {},
  json_object: {},
  json_schema: {
    'json_schema!': s.object({ 'name!': NAME, 'schema!': s.map, strict: s.flag, description: s.text })
  }
})
const BODY = s.object({
  'model!': s.text,
  'messages!': s.list(MESSAGE, 1),
  tools: s.list(TOOL, 1),
  tool_choice: s.anything,
  parallel_tool_calls: s.flag,
  response_format: FORMAT,
  max_tokens: s.number,
  max_completion_tokens: s.number,
  temperature: s.within(0, 2),
  top_p: s.within(0, 1),
  stop: s.either(s.text, s.list(s.text)),
  seed: s.number,
  frequency_penalty: s.within(-2, 2),
  presence_penalty: s.within(-2, 2),
  n: s.number,
  logprobs: s.flag,
  top_logprobs: s.number,
  logit_bias: s.map,
  user: s.matching(/^.{0,64}$/s),
  safety_identifier: s.matching(/^.{0,64}$/s),
  prompt_cache_key: s.matching(/^.{0,64}$/s),
  prompt_cache_retention: s.text,
  reasoning_effort: s.words('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
  verbosity: s.words('low', 'medium', 'high'),
  service_tier: s.words('auto', 'default', 'flex', 'scale', 'priority'),
  store: s.flag,
  metadata: s.map,
  modalities: s.list(s.text),
  audio: s.map,
  prediction: s.map,
  web_search_options: s.map,
  stream: s.flag,
  stream_options: s.object({ include_usage: s.flag, include_obfuscation: s.flag })
})

/** Every call must be answered directly behind it. */
function orderOf(messages: Body[]): string | null {
  let open: string[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id))
        return `messages[${i}]: a tool message must be a response to a preceding message with 'tool_calls'`
      open = open.filter((id) => id !== message.tool_call_id)
    } else if (open.length > 0) return `messages[${i}]: tool_call_ids did not have response messages: ${open}`
    if (message.role === 'assistant') {
      open = (message.tool_calls ?? []).map((call: Body) => call.id)
      if (open.length === 0 && (message.content ?? message.refusal ?? null) === null)
        return `messages[${i}].content: expected a string, got null`
    }
  }
  return open.length === 0 ? null : `tool_call_ids did not have response messages: ${open}`
}

function refuses(body: Body): string | null {
  const fault = s.faultOf(BODY, body) ?? orderOf(body.messages)
  if (fault !== null) return fault
  const wantsJson = body.response_format?.type === 'json_object'
  if (wantsJson && !/json/i.test(JSON.stringify(body.messages))) return "'messages' must contain the word 'json'"
  for (const name of ['tool_choice', 'parallel_tool_calls'])
    if (name in body && body.tools === undefined) return `'${name}' is only allowed when 'tools' are specified`
  if (body.stream_options && body.stream !== true) return "'stream_options' is only allowed when 'stream' is enabled"
  if (body.metadata && body.store !== true) return "'metadata' is only allowed when 'store' is enabled"
  return null
}

const USAGE = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 12,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0
  }
}

const callsOf = ({ calls }: ModelReply, customs: ReadonlySet<string>) =>
  calls.map(({ id, name, input }) =>
    customs.has(name)
      ? { id: `call_${id}`, type: 'custom', custom: { name, input: JSON.parse(input).input ?? input } }
      : { id: `call_${id}`, type: 'function', function: { name, arguments: input } }
  )

function answerTo(reply: ModelReply, body: Body) {
  const customs = new Set<string>((body.tools ?? []).flatMap((tool: Body) => tool.custom?.name ?? []))
  const head = { id: 'chatcmpl-C9', created: 1_757_000_000, model: body.model, service_tier: 'default' }
  const calls = callsOf(reply, customs)
  const reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const message = {
    role: 'assistant',
    content: reply.text === '' ? null : reply.text,
    refusal: null,
    annotations: [],
    ...(reply.thoughts === null ? {} : { reasoning_content: reply.thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: reason }
  return { head, calls, reason, choice }
}

function streamed(reply: ModelReply, body: Body): string[] {
  const { head, calls, reason } = answerTo(reply, body)
  const base = { ...head, object: 'chat.completion.chunk', system_fingerprint: 'fp_1' }
  const chunk = (delta: object, finish: string | null = null) =>
    eventOf({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })
  const chunks = [chunk({ role: 'assistant', content: '', refusal: null })]
  if (reply.thoughts !== null)
    for (const text of pieces(reply.thoughts)) chunks.push(chunk({ reasoning_content: text }))
  // Members of the server's own, alone in a delta.
  chunks.push(chunk({ provider_specific_fields: { citations: null } }))
  if (reply.text !== '') for (const content of pieces(reply.text)) chunks.push(chunk({ content }))
  for (const [index, call] of calls.entries()) {
    if (call.function === undefined) {
      chunks.push(chunk({ tool_calls: [{ index, ...call }] }))
      continue
    }
    const first = { ...call, function: { ...call.function, arguments: '' } }
    chunks.push(chunk({ tool_calls: [{ index, ...first }] }))
    for (const text of pieces(call.function.arguments))
      chunks.push(chunk({ tool_calls: [{ index, function: { arguments: text } }] }))
  }
  chunks.push(chunk({}, reason))
  if (body.stream_options?.include_usage) chunks.push(eventOf({ ...base, choices: [], usage: USAGE }))
  return [...chunks, 'data: [DONE]\n\n']
}

const forcedOf = (choice: Body): string | null =>
  choice === 'required' ? '' : (choice?.function?.name ?? choice?.custom?.name ?? null)

/** Servers of open models always tell their thoughts, OpenAI's never. */
export const chat: Double = {
  refuses,
  facts: (body) => ({
    tools: (body.tools ?? []).map((tool: Body) => (tool.function ?? tool.custom).name),
    results: body.messages.filter(({ role }: Body) => role === 'tool').length,
    forced: forcedOf(body.tool_choice),
    mayCall: body.tool_choice !== 'none',
    thinks: body.model.startsWith('deepseek'),
    isStreamed: body.stream === true
  }),
  answer: (reply, body, { isStreamed }) => {
    if (isStreamed) return events(streamed(reply, body))
    const { head, choice } = answerTo(reply, body)
    return whole({ ...head, object: 'chat.completion', choices: [choice], usage: USAGE, system_fingerprint: 'fp_1' })
  },
  error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } })
}
