/** OpenAI's Responses (API reference, "Create a model response"). */
import type { Body } from '#backends/demo/models/wire.ts'
import { type Double, eventOf, events, type ModelReply, pieces, whole } from './double.ts'
import * as s from './shape.ts'

const NAME = s.matching(/^[a-zA-Z0-9_-]{1,64}$/)
const CALL_ID = s.matching(/^.{1,64}$/)
const own = (prefix: string) => ({ id: s.matching(new RegExp(`^${prefix}_`)), status: s.text })
const CONTENT = s.tagged('type', {
  input_text: { 'text!': s.text },
  output_text: { 'text!': s.text, parsed: s.anything, annotations: s.list(s.anything), logprobs: s.list(s.anything) },
  refusal: { 'refusal!': s.text },
  input_image: { image_url: s.matching(/^(?:https?:|data:image\/)/), file_id: s.text, detail: s.text },
  input_file: { file_data: s.matching(/^data:/), file_id: s.text, file_url: s.text, filename: s.text, detail: s.text }
})
const ITEM = s.tagged(
  'type',
  {
    message: {
      'role!': s.words('user', 'assistant', 'system', 'developer'),
      'content!': s.either(s.text, s.list(CONTENT)),
      phase: s.text,
      ...own('msg')
    },
    function_call: {
      'call_id!': CALL_ID,
      'name!': NAME,
      'arguments!': s.text,
      // The SDK's own, left in what it gives.
      parsed_arguments: s.anything,
      ...own('fc')
    },
    function_call_output: { 'call_id!': CALL_ID, 'output!': s.either(s.text, s.list(CONTENT)), ...own('fco') },
    custom_tool_call: { 'call_id!': CALL_ID, 'name!': NAME, 'input!': s.text, ...own('ctc') },
    custom_tool_call_output: { 'call_id!': CALL_ID, 'output!': s.anything, ...own('ctco') },
    reasoning: {
      'summary!': s.list(s.object({ 'type!': s.text, 'text!': s.text })),
      encrypted_content: s.matching(/^gAAAA/),
      content: s.list(s.anything),
      ...own('rs')
    },
    item_reference: { 'id!': s.text }
  },
  'message'
)
const TOOL = s.tagged('type', {
  function: { 'name!': NAME, description: s.text, 'parameters!': s.map, strict: s.flag },
  custom: { 'name!': NAME, description: s.text, format: s.map },
  local_shell: {},
  web_search: { external_web_access: s.flag },
  web_search_preview: {}
})
const BODY = s.object({
  'model!': s.text,
  input: s.either(s.text, s.list(ITEM, 1)),
  instructions: s.text,
  tools: s.list(TOOL),
  tool_choice: s.anything,
  parallel_tool_calls: s.flag,
  max_output_tokens: s.within(16, 1e6),
  max_tool_calls: s.number,
  temperature: s.within(0, 2),
  top_p: s.within(0, 1),
  top_logprobs: s.number,
  text: s.object({
    format: s.tagged('type', {
      text: {},
      json_object: {},
      json_schema: { 'name!': NAME, 'schema!': s.map, strict: s.flag, description: s.text }
    }),
    verbosity: s.words('low', 'medium', 'high')
  }),
  reasoning: s.object({ effort: s.text, summary: s.text, context: s.text }),
  include: s.list(s.text),
  store: s.flag,
  stream: s.flag,
  stream_options: s.object({ include_obfuscation: s.flag }),
  service_tier: s.words('auto', 'default', 'flex', 'priority'),
  metadata: s.map,
  user: s.matching(/^.{0,64}$/s),
  safety_identifier: s.matching(/^.{0,64}$/s),
  prompt_cache_key: s.matching(/^.{0,64}$/s),
  prompt_cache_retention: s.text,
  previous_response_id: s.text,
  truncation: s.text,
  background: s.flag,
  client_metadata: s.map
})

const itemsOf = ({ input }: Body): Body[] => (Array.isArray(input) ? input : [])
const ofType = (items: Body[], pattern: RegExp): Body[] => items.filter(({ type }) => pattern.test(type ?? ''))

function orderOf(body: Body): string | null {
  const items = itemsOf(body)
  const calls = ofType(items, /_call$/).map((item) => item.call_id)
  const outputs = ofType(items, /_output$/).map((item) => item.call_id)
  const open = calls.find((id) => !outputs.includes(id))
  if (open !== undefined) return `No tool output found for function call ${open}.`
  const odd = outputs.find((id) => !calls.includes(id))
  if (odd !== undefined) return `No tool call found for function call output with call_id ${odd}.`
  const wantsJson = body.text?.format?.type === 'json_object'
  if (wantsJson && !/json/i.test(JSON.stringify(body.input)))
    return "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
  const bare = items.findIndex(({ type, id, encrypted_content: sealed }) => type === 'reasoning' && !id && !sealed)
  return bare < 0 ? null : `input[${bare}].id: Missing required parameter`
}

const USAGE = {
  input_tokens: 120,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 150
}

function outputOf(reply: ModelReply, body: Body): Body[] {
  const customs = new Set((body.tools ?? []).flatMap((tool: Body) => (tool.type === 'custom' ? [tool.name] : [])))
  const items: Body[] = []
  if (reply.thoughts !== null) {
    const sealed = body.include?.includes('reasoning.encrypted_content') ? { encrypted_content: 'gAAAAABo' } : {}
    const summary = body.reasoning?.summary ? [{ type: 'summary_text', text: reply.thoughts }] : []
    items.push({ id: 'rs_1', type: 'reasoning', summary, ...sealed })
  }
  if (reply.text !== '') {
    const content = [{ type: 'output_text', annotations: [], logprobs: [], text: reply.text }]
    items.push({ id: 'msg_1', type: 'message', status: 'completed', content, role: 'assistant' })
  }
  for (const { id, name, input } of reply.calls) {
    const base = { status: 'completed', call_id: `call_${id}`, name }
    if (customs.has(name))
      items.push({ id: `ctc_${id}`, type: 'custom_tool_call', ...base, input: JSON.parse(input).input ?? input })
    else items.push({ id: `fc_${id}`, type: 'function_call', ...base, arguments: input })
  }
  return items
}

function responseOf(body: Body, output: readonly Body[], isDone: boolean) {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_757_000_000,
    status: isDone ? 'completed' : 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    model: body.model,
    output: isDone ? output : [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    safety_identifier: null,
    service_tier: 'default',
    store: body.store ?? true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: isDone ? USAGE : null,
    user: null,
    metadata: body.metadata ?? {}
  }
}

function piecesOf(item: Body, output_index: number): Body[] {
  const at = { item_id: item.id, output_index }
  if (item.type === 'reasoning') {
    return item.summary.flatMap((part: Body, summary_index: number) => [
      { type: 'response.reasoning_summary_part.added', ...at, summary_index, part: { ...part, text: '' } },
      ...pieces(part.text).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        summary_index,
        delta
      })),
      { type: 'response.reasoning_summary_text.done', ...at, summary_index, text: part.text },
      { type: 'response.reasoning_summary_part.done', ...at, summary_index, part }
    ])
  }
  if (item.type === 'message') {
    const part = item.content[0]
    const text = { ...at, content_index: 0 }
    return [
      { type: 'response.content_part.added', ...text, part: { ...part, text: '' } },
      ...pieces(part.text).map((delta) => ({ type: 'response.output_text.delta', ...text, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...text, text: part.text, logprobs: [] },
      { type: 'response.content_part.done', ...text, part }
    ]
  }
  const isCustom = item.type === 'custom_tool_call'
  const name = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const whole = isCustom ? { input: item.input } : { arguments: item.arguments, name: item.name }
  const deltas = pieces(isCustom ? item.input : item.arguments).map((delta) => ({
    type: `${name}.delta`,
    ...at,
    delta
  }))
  return [...deltas, { type: `${name}.done`, ...at, ...whole }]
}

const BEGUN: { readonly [type: string]: object } = {
  reasoning: { summary: [] },
  message: { status: 'in_progress', content: [] },
  function_call: { status: 'in_progress', arguments: '' },
  custom_tool_call: { status: 'in_progress', input: '' }
}

function streamed(body: Body, output: readonly Body[]): string[] {
  const list: Body[] = [
    { type: 'response.created', response: responseOf(body, output, false) },
    { type: 'response.in_progress', response: responseOf(body, output, false) }
  ]
  for (const [output_index, item] of output.entries()) {
    list.push({ type: 'response.output_item.added', output_index, item: { ...item, ...BEGUN[item.type] } })
    list.push(...piecesOf(item, output_index))
    list.push({ type: 'response.output_item.done', output_index, item })
  }
  list.push({ type: 'response.completed', response: responseOf(body, output, true) })
  return list.map((event, sequence_number) => eventOf({ ...event, sequence_number }, event.type))
}

export const responses: Double = {
  refuses: (body) => s.faultOf(BODY, body) ?? orderOf(body),
  facts: (body) => ({
    tools: (body.tools ?? []).flatMap(({ name }: Body) => name ?? []),
    results: ofType(itemsOf(body), /_output$/).length,
    forced: body.tool_choice === 'required' ? '' : (body.tool_choice?.name ?? null),
    mayCall: body.tool_choice !== 'none',
    thinks: true,
    isStreamed: body.stream === true
  }),
  answer: (reply, body, { isStreamed }) => {
    const output = outputOf(reply, body)
    return isStreamed ? events(streamed(body, output)) : whole(responseOf(body, output, true))
  },
  error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } })
}
