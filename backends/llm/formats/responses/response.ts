/** What a response object says of itself, beside its output: for whole answers and for the events of streams. */
import type { JsonObject, StopReason } from '#backends/llm/conversation.ts'
import type { AnswerContext } from '#backends/llm/formats/format.ts'

/**
 * All that the SDK's `Response` type requires. What repeats the request says nothing but that the gateway does not
 * keep it.
 */
export function head(
  answer: { readonly id: string; readonly model: string; readonly created: number },
  context: AnswerContext
): JsonObject {
  return {
    ...HEAD,
    id: answer.id === '' ? `resp_${context.id}` : answer.id,
    created_at: answer.created === 0 ? Math.floor(context.at / 1000) : answer.created,
    model: context.model === '' ? answer.model : context.model
  }
}

const HEAD: JsonObject = {
  id: '',
  object: 'response',
  created_at: 0,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: '',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: null,
  store: false,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  truncation: 'disabled',
  usage: null,
  user: null
}

export interface Outcome {
  readonly status: 'completed' | 'incomplete' | 'failed'
  /** Why it is incomplete. */
  readonly incomplete: 'max_output_tokens' | 'content_filter' | null
  readonly error: JsonObject | null
}

const COMPLETED: Outcome = { status: 'completed', incomplete: null, error: null }
const CUT: Outcome = { status: 'incomplete', incomplete: 'max_output_tokens', error: null }
const FILTERED: Outcome = { status: 'incomplete', incomplete: 'content_filter', error: null }
const FAILED: Outcome = {
  status: 'failed',
  incomplete: null,
  error: { code: 'server_error', message: 'The model broke off with an error.' }
}

/** Refusing is done in words of its own here; a refusal without them (Anthropic's) is the work of a filter. */
export function outcome(stop: StopReason, hasRefusal: boolean): Outcome {
  if (stop === 'length' || stop === 'contextWindow') return CUT
  if (stop === 'filter' || (stop === 'refusal' && !hasRefusal)) return FILTERED
  return stop === 'error' ? FAILED : COMPLETED
}
