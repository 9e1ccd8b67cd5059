/**
 * What has gone wrong at a provider: by its status, by the code of its error, and, where servers say it in words alone,
 * by those. Sources: the providers' references and recorded errors; each row names whose it is.
 */
import { isFailure } from '#backends/llm/answer/masked-errors.ts'
import type { ErrorClass } from '#backends/llm/config/snapshot.ts'
import type { ChatError } from '#backends/llm/conversation.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'

const CODES: ReadonlyMap<string, ErrorClass> = new Map([
  // OpenAI, and most that speak its format; llama.cpp has the second.
  ['context_length_exceeded', 'context_window'],
  ['exceed_context_size_error', 'context_window'],
  // OpenAI (images); Azure OpenAI, in `code` and in `innererror.code`; Alibaba.
  ['content_policy_violation', 'content_policy'],
  ['content_filter', 'content_policy'],
  ['ResponsibleAIPolicyViolation', 'content_policy'],
  ['data_inspection_failed', 'content_policy']
])

const CONTEXT_WINDOW = [
  // OpenAI, vLLM, SGLang, DeepSeek, OpenRouter, Mistral ("... for model with 32768 maximum context length").
  /maximum context length/i,
  // Anthropic: "prompt is too long: N tokens > M maximum", "input length and `max_tokens` exceed context limit".
  /prompt is too long|exceed context limit/i,
  // Gemini: "The input token count (N) exceeds the maximum number of tokens allowed (M)".
  /input token count .{0,40}exceeds the maximum/i,
  // Bedrock: "Input is too long for requested model.", "Too many input tokens".
  /input is too long for requested model|too many input tokens/i,
  // Groq, Cohere, Together, llama.cpp.
  /reduce the length of the messages|too many tokens:|`?inputs`? tokens \+ `?max_new_tokens`? must be|exceeds? the available context size/i
]

const CONTENT_POLICY = [
  // Azure OpenAI: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
  /content management policy/i,
  // Anthropic: "Output blocked by content filtering policy".
  /blocked by content filtering policy/i,
  // OpenAI: "Your request was rejected as a result of our safety system."
  /rejected as a result of our safety system|flagged as potentially violating our usage policy/i
]

/** Statuses behind which an error of the request may be one of the above: its body is to be read. */
export const isAboutRequest = (status: number): boolean => status === 400 || status === 413 || status === 422

/** What services of AWS answer when the model behind them has failed, however: SageMaker's body tells the status. */
export const QUOTED = 424

/** Null: another provider would say the same. */
export function classOfError({ status, code, message, type }: ChatError): ErrorClass | null {
  const byCode = code === null ? undefined : CODES.get(code)
  if (byCode !== undefined) return byCode
  if (isAboutRequest(status)) {
    if (CONTEXT_WINDOW.some((pattern) => pattern.test(message))) return 'context_window'
    if (CONTENT_POLICY.some((pattern) => pattern.test(message))) return 'content_policy'
  }
  if (type === 'filter') return 'content_policy'
  // Some say so with the status of another.
  if (type === 'quota') return 'rate_limit'
  return type === 'overloaded' ? 'overloaded' : classOfStatus(status)
}

export function classOfStatus(status: number): ErrorClass | null {
  if (status === 401 || status === 403) return 'auth'
  if (status === 429) return 'rate_limit'
  // 529 is Anthropic's.
  if (status === 503 || status === 529) return 'overloaded'
  if (status === 408 || status === 504) return 'timeout'
  return isFailure(status) ? 'server_error' : null
}

/** Of an attempt without an answer. */
export const classOfFault = (code: ErrorCode): ErrorClass =>
  code === 'UPSTREAM_TIMEOUT' || code === 'CONNECT_TIMEOUT' ? 'timeout' : 'server_error'
