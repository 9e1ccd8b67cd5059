/** Messages of the mock provider (Anthropic API reference, Messages). */
import { type Body, PIECES, TOOL_ARGUMENTS, type Wire } from './wire.ts'

const MESSAGE_USAGE = { input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 7 }

export function message(body: Body): object {
  const name = body.tools?.[0]?.name
  const content =
    name === undefined
      ? { type: 'text', text: PIECES.join('') }
      : { type: 'tool_use', id: 'toolu_1', name, input: JSON.parse(TOOL_ARGUMENTS) }
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: [content],
    stop_reason: name === undefined ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: MESSAGE_USAGE
  }
}

export function messageEvents(body: Body): Wire {
  const name = body.tools?.[0]?.name
  const start = { ...message(body), content: [], stop_reason: null, usage: { ...MESSAGE_USAGE, output_tokens: 1 } }
  const block = name === undefined ? { type: 'text', text: '' } : { type: 'tool_use', id: 'toolu_1', name, input: {} }
  const deltas =
    name === undefined
      ? PIECES.map((text) => ({ type: 'text_delta', text }))
      : ['', TOOL_ARGUMENTS.slice(0, 5), TOOL_ARGUMENTS.slice(5)].map((partial_json) => ({
          type: 'input_json_delta',
          partial_json
        }))
  const stop = { stop_reason: name === undefined ? 'end_turn' : 'tool_use', stop_sequence: null }
  return [
    ['message_start', { type: 'message_start', message: start }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: block }],
    ['ping', { type: 'ping' }],
    ...deltas.map((delta) => ['content_block_delta', { type: 'content_block_delta', index: 0, delta }] as const),
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: stop, usage: { output_tokens: 7 } }],
    ['message_stop', { type: 'message_stop' }]
  ]
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error'
}

/** Anthropic API reference, Errors. */
export function anthropicError(status: number, message: string): object {
  return { type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message }, request_id: 'req_1' }
}
