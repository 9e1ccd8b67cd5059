/** Answers as Bedrock gives them, made of a conversation's: what stands for the provider in tests. */
import type { Answer, Json, JsonObject, Part, Signature, StopReason, Usage } from '#backends/llm/conversation.ts'
import { formatOf } from '#backends/llm/formats/converse/media.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import { sealSignature } from '#backends/llm/translate/signature.ts'
import { parseJson } from '#engine/kit/json.ts'

const STOPS: { readonly [stop in StopReason]: string } = {
  end: 'end_turn',
  length: 'max_tokens',
  stopSequence: 'stop_sequence',
  tools: 'tool_use',
  filter: 'content_filtered',
  refusal: 'content_filtered',
  pause: 'end_turn',
  contextWindow: 'model_context_window_exceeded',
  error: 'malformed_model_output'
}

/** Of the first choice. */
export function writeAnswer({ choices, usage, serviceTier }: Answer): JsonObject {
  const [choice] = choices
  return compact({
    output: { message: { role: 'assistant', content: choice?.parts.flatMap((part) => blockOf(part) ?? []) ?? [] } },
    ...writeStop(choice?.stop ?? 'end', choice?.stopSequence ?? null),
    ...writeCost(usage, serviceTier)
  })
}

export function writeStop(stop: StopReason, stopSequence: string | null): JsonObject {
  const fields = stopSequence === null ? null : { stop_sequence: stopSequence }
  return compact({ stopReason: STOPS[stop], additionalModelResponseFields: fields })
}

export function writeCost(usage: Usage | null, serviceTier: string | null): JsonObject {
  return compact({
    usage: usage === null ? null : writeUsage(usage),
    metrics: { latencyMs: 1 },
    serviceTier: serviceTier === null ? null : { type: serviceTier }
  })
}

function writeUsage({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Usage): JsonObject {
  const written = [
    { ttl: '1h', inputTokens: cacheWrite1h },
    { ttl: '5m', inputTokens: cacheWrite5m }
  ]
  return compact({
    inputTokens: input - cacheRead - cacheWrite5m - cacheWrite1h,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cacheRead || null,
    cacheWriteInputTokens: cacheWrite5m + cacheWrite1h || null,
    cacheDetails: cacheWrite5m + cacheWrite1h > 0 ? written : null
  })
}

/** Redacted content is bytes; a sealed signature is text. */
export function redacted(signature: Signature | null): string {
  if (signature === null || signature.format === 'converse') return signature?.data ?? ''
  return Buffer.from(sealSignature(signature, 'converse')).toString('base64')
}

/** Null: Bedrock has no such block. */
export function blockOf(part: Part): JsonObject | null {
  if (part.kind === 'text' || part.kind === 'refusal') return { text: part.text }
  if (part.kind === 'toolCall') {
    return {
      toolUse: {
        toolUseId: part.id,
        name: part.name,
        input: (parseJson(part.arguments || '{}') ?? part.arguments) as Json
      }
    }
  }
  if (part.kind === 'opaque') return part.format === 'converse' ? { ...part.value } : null
  if (part.kind === 'thinking') {
    const seal = part.signature === null ? null : sealSignature(part.signature, 'converse')
    if (part.isRedacted) return { reasoningContent: { redactedContent: redacted(part.signature) } }
    return { reasoningContent: { reasoningText: compact({ text: part.text, signature: seal }) } }
  }
  if (part.kind !== 'image' || part.source.kind !== 'base64') return null
  return { image: { format: formatOf('image', part.mediaType ?? 'image/png'), source: { bytes: part.source.data } } }
}
