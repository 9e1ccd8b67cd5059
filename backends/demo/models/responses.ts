/** Responses of the mock provider (OpenAI API reference, Responses and its streaming events). */
import { ARGUMENT_PIECES, type Body, PIECES, TEXT, TOOL_ARGUMENTS, type Wire } from './wire.ts'

const USAGE = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 19
}

const toolName = (body: Body): string | undefined => body.tools?.[0]?.name

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

/** The only item of the output: a message, or a call. */
function item(body: Body, isDone: boolean): object {
  const status = isDone ? 'completed' : 'in_progress'
  const name = toolName(body)
  if (name === undefined) {
    return { id: 'msg_1', type: 'message', status, role: 'assistant', content: isDone ? [textPart(TEXT)] : [] }
  }
  return { id: 'fc_1', type: 'function_call', status, call_id: 'call_1', name, arguments: isDone ? TOOL_ARGUMENTS : '' }
}

export function response(body: Body, isDone = true): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: isDone ? 'completed' : 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output: isDone ? [item(body, true)] : [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: isDone ? USAGE : null,
    user: null,
    metadata: body.metadata ?? {}
  }
}

export function responseEvents(body: Body): Wire {
  const events = [
    { type: 'response.created', response: response(body, false) },
    { type: 'response.in_progress', response: response(body, false) },
    { type: 'response.output_item.added', output_index: 0, item: item(body, false) },
    ...(toolName(body) === undefined ? textEvents() : callEvents(toolName(body)!)),
    { type: 'response.output_item.done', output_index: 0, item: item(body, true) },
    { type: 'response.completed', response: response(body) }
  ]
  return events.map((event, i) => [event.type, { ...event, sequence_number: i }] as const)
}

function textEvents() {
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  return [
    { type: 'response.content_part.added', ...at, part: textPart('') },
    ...PIECES.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: textPart(TEXT) }
  ]
}

function callEvents(name: string) {
  const at = { item_id: 'fc_1', output_index: 0 }
  return [
    ...ARGUMENT_PIECES.map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, name, arguments: TOOL_ARGUMENTS }
  ]
}
