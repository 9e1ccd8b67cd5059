/**
 * What Langfuse reads beside the GenAI conventions ("OpenTelemetry", property mapping), and nobody else: when the first
 * token came, tokens in parts that add up, tags. Sent to its own endpoint alone.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ModelUse } from '#engine/contract/model-use.ts'
import type { Attribute } from '#engine/telemetry/otlp/attributes.ts'
import { micros } from '#engine/telemetry/otlp/clock.ts'
import { tagsOf } from './caller-attributes.ts'

/** Of every span: that of the request is the trace. */
export const LANGFUSE_ATTRIBUTES: readonly Attribute<Exchange>[] = [['langfuse.trace.tags', tagsOf]]

/** Of an attempt that asks a model. */
export const LANGFUSE_MODEL_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['langfuse.observation.completion_start_time', firstTokenTime],
  ['langfuse.observation.usage_details', ({ llm }) => (llm === null ? undefined : usageDetails(llm))]
]

function firstTokenTime({ llm }: Exchange): string | undefined {
  const at = llm?.firstTokenAt
  return at === undefined ? undefined : new Date(micros(at) / 1000).toISOString()
}

/** Langfuse adds up what it gets, so no token may be in two parts; names are those that it has prices for. */
function usageDetails(llm: ModelUse): string | undefined {
  const { inputTokens: input, outputTokens: output, cachedInputTokens: read = 0 } = llm
  if (input === undefined || output === undefined) return undefined
  const { cacheCreationInputTokens: written = 0, reasoningTokens: reasoning = 0 } = llm
  const { inputAudioTokens = 0, inputImageTokens = 0, outputAudioTokens = 0, outputImageTokens = 0 } = llm
  const parts = {
    input: input - read - written - inputAudioTokens - inputImageTokens,
    input_cached_tokens: read,
    input_cache_creation: written,
    input_audio_tokens: inputAudioTokens,
    input_image_tokens: inputImageTokens,
    output: output - reasoning - outputAudioTokens - outputImageTokens,
    output_reasoning_tokens: reasoning,
    output_audio_tokens: outputAudioTokens,
    output_image_tokens: outputImageTokens
  }
  const kept = Object.entries(parts).filter(([name, count]) => count > 0 || name === 'input' || name === 'output')
  // A provider that counts otherwise must not make a part below nothing.
  const counts = kept.map(([name, count]) => [name, Math.max(count, 0)])
  return JSON.stringify({ ...Object.fromEntries(counts), total: input + output })
}
