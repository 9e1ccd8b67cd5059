/** Chat completions of the mock provider (OpenAI API reference, Chat). */
import { type Body, PIECES, TOOL_ARGUMENTS, type Wire } from './wire.ts'

const OPENAI_USAGE = {
  prompt_tokens: 12,
  completion_tokens: 7,
  total_tokens: 19,
  prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 }
}

export function completion(body: Body): object {
  const name = body.tools?.[0]?.function?.name
  const call = { id: 'call_1', type: 'function', function: { name, arguments: TOOL_ARGUMENTS } }
  const message =
    name === undefined
      ? { role: 'assistant', content: PIECES.join(''), refusal: null }
      : { role: 'assistant', content: null, tool_calls: [call], refusal: null }
  const choice = { index: 0, message, logprobs: null, finish_reason: name === undefined ? 'stop' : 'tool_calls' }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: body.model,
    choices: [choice],
    usage: OPENAI_USAGE
  }
}

export function completionEvents(body: Body): Wire {
  const name = body.tools?.[0]?.function?.name
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: body.model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  })
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] })
  const parts =
    name === undefined
      ? PIECES.map((content) => chunk({ content }))
      : [
          call({ id: 'call_1', type: 'function', function: { name, arguments: '' } }),
          call({ function: { arguments: TOOL_ARGUMENTS.slice(0, 5) } }),
          call({ function: { arguments: TOOL_ARGUMENTS.slice(5) } })
        ]
  const usage = { ...chunk({}), choices: [], usage: OPENAI_USAGE }
  const all = [
    chunk({ role: 'assistant', content: name === undefined ? '' : null }),
    ...parts,
    chunk({}, name === undefined ? 'stop' : 'tool_calls'),
    ...(body.stream_options?.include_usage === true ? [usage] : [])
  ]
  return [...all.map((data) => [null, data] as const), [null, '[DONE]']]
}

/** OpenAI API reference, error codes. */
export function openaiError(status: number, message: string): object {
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
  return { error: { message, type, param: null, code: null } }
}
