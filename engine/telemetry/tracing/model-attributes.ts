/**
 * What a model was asked and has answered, as the GenAI conventions name it (gen-ai/client-inference). Never what was
 * said: a configuration that wants it adds it by an expression.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { firstTokenMs, type ModelUse } from '#engine/contract/model-use.ts'
import type { Attribute } from '#engine/telemetry/otlp/attributes.ts'

const of =
  <K extends keyof ModelUse>(field: K) =>
  ({ llm }: Exchange): ModelUse[K] | undefined =>
    llm?.[field]

/** A count of a part: said when there is something to say. */
const part =
  (field: keyof ModelUse) =>
  ({ llm }: Exchange): number | undefined => {
    const count = llm?.[field]
    return typeof count === 'number' && count > 0 ? count : undefined
  }

export const MODEL_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['gen_ai.operation.name', of('operation')],
  ['gen_ai.provider.name', of('provider')],
  ['gen_ai.request.model', of('requestModel')],
  ['gen_ai.request.stream', ({ llm }) => (llm?.streaming === true ? true : undefined)],
  ['gen_ai.response.model', of('responseModel')],
  ['gen_ai.response.time_to_first_chunk', firstChunkSeconds],
  ['gen_ai.usage.input_tokens', of('inputTokens')],
  ['gen_ai.usage.output_tokens', of('outputTokens')],
  ['gen_ai.usage.cache_read.input_tokens', part('cachedInputTokens')],
  ['gen_ai.usage.cache_creation.input_tokens', part('cacheCreationInputTokens')],
  ['gen_ai.usage.reasoning.output_tokens', part('reasoningTokens')],
  ['gen_ai.usage.audio.input_tokens', part('inputAudioTokens')],
  ['gen_ai.usage.audio.output_tokens', part('outputAudioTokens')],
  ['gen_ai.usage.image.input_tokens', part('inputImageTokens')]
]

function firstChunkSeconds({ llm, startedAt }: Exchange): number | undefined {
  const ms = llm === null ? undefined : firstTokenMs(llm, startedAt)
  return ms === undefined ? undefined : ms / 1000
}

/** Undefined: it is not known what was asked. */
export function modelSpanName({ operation, requestModel }: ModelUse): string | undefined {
  if (operation === undefined) return undefined
  return requestModel === undefined ? operation : `${operation} ${requestModel}`
}
