/** Answers as Cohere gives them, made of a conversation's: what stands for the provider in tests. */
import type { Answer, Json, JsonObject, Part, StopReason, Usage } from '#backends/llm/conversation.ts'
import { compact, isObject } from '#backends/llm/formats/fields.ts'

const STOPS: { readonly [stop in StopReason]: string } = {
  end: 'COMPLETE',
  length: 'MAX_TOKENS',
  stopSequence: 'STOP_SEQUENCE',
  tools: 'TOOL_CALL',
  filter: 'ERROR_TOXIC',
  refusal: 'ERROR_TOXIC',
  pause: 'COMPLETE',
  contextWindow: 'ERROR_LIMIT',
  error: 'ERROR'
}

export const wordOf = (stop: StopReason): string => STOPS[stop]

/** Of the first choice. Texts beside calls stay content: a plan that follows them is one text more when it is read. */
export function writeAnswer({ id, choices, usage }: Answer): JsonObject {
  const [choice] = choices
  const parts = choice?.parts ?? []
  return compact({
    id,
    message: compact({
      role: 'assistant',
      content: parts.flatMap((part) => blockOf(part) ?? []),
      tool_calls: listOrNull(parts.flatMap((part) => callOf(part) ?? [])),
      citations: listOrNull(parts.flatMap((part) => citationsOf(part)))
    }),
    finish_reason: wordOf(choice?.stop ?? 'end'),
    logprobs: logprobsOf(choice?.logprobs ?? null),
    usage: usage === null ? null : writeUsage(usage)
  })
}

const listOrNull = (list: Json[]): Json => (list.length > 0 ? list : null)

export function writeUsage({ input, output, searches }: Usage): JsonObject {
  const units = { input_tokens: input, output_tokens: output }
  return { billed_units: compact({ ...units, search_units: searches }), tokens: units, cached_tokens: 0 }
}

/** Null: it is none of the content. */
export function blockOf(part: Part): JsonObject | null {
  if (part.kind === 'text' || part.kind === 'refusal') return { type: 'text', text: part.text }
  if (part.kind === 'thinking') return part.isRedacted ? null : { type: 'thinking', thinking: part.text }
  return part.kind === 'opaque' && part.format === 'cohereV2' && !Array.isArray(part.value.citations)
    ? part.value
    : null
}

export function callOf(part: Part): JsonObject | null {
  if (part.kind !== 'toolCall') return null
  return { id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments } }
}

export function citationsOf(part: Part): readonly Json[] {
  const isCited = part.kind === 'opaque' && part.format === 'cohereV2' && Array.isArray(part.value.citations)
  return isCited ? (part.value.citations as readonly Json[]) : []
}

export function logprobsOf(logprobs: Json): Json {
  if (!Array.isArray(logprobs)) return null
  return (logprobs as readonly Json[]).filter(isObject).map(({ token = '', logprob = 0 }) => {
    return { text: token, token_ids: [0], logprobs: [logprob] }
  })
}
