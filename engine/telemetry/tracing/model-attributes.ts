/**
 * What a model was asked and has answered, as the GenAI conventions name it (gen-ai/client-inference). Never what was
 * said: a configuration that wants it adds it by an expression.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { type LeftTarget, MODEL_ROUTING, type ModelRouting } from '#engine/contract/model-routing.ts'
import { firstTokenMs, type ModelUse, type RequestSettings, unitsOf } from '#engine/contract/model-use.ts'
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
  ['gen_ai.response.time_to_first_chunk', firstChunkSeconds, 'double'],
  ['gen_ai.usage.input_tokens', of('inputTokens')],
  ['gen_ai.usage.output_tokens', of('outputTokens')],
  ['gen_ai.usage.cache_read.input_tokens', part('cachedInputTokens')],
  ['gen_ai.usage.cache_creation.input_tokens', part('cacheCreationInputTokens')],
  ['gen_ai.usage.reasoning.output_tokens', part('reasoningTokens')],
  ['gen_ai.usage.audio.input_tokens', part('inputAudioTokens')],
  ['gen_ai.usage.audio.output_tokens', part('outputAudioTokens')],
  ['gen_ai.usage.image.input_tokens', part('inputImageTokens')],
  // The conventions have no cost yet: the name that OpenLIT and others send, which Langfuse reads.
  ['gen_ai.usage.cost', ({ llm }) => (llm === null ? undefined : unitsOf(llm.cost)), 'double'],
  ['weir.cost.basis', of('costBasis')],
  ['weir.cost.unknown', of('costUnknown')],
  ['weir.cache', of('cache')],
  ['weir.llm.continuations', of('continuations')]
]

const setting =
  <K extends keyof RequestSettings>(field: K) =>
  ({ llm }: Exchange): RequestSettings[K] | undefined =>
    llm?.settings?.[field]

/** What spans say beside that. */
export const MODEL_CALL_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['gen_ai.request.temperature', setting('temperature'), 'double'],
  ['gen_ai.request.top_p', setting('topP'), 'double'],
  ['gen_ai.request.top_k', setting('topK')],
  ['gen_ai.request.frequency_penalty', setting('frequencyPenalty'), 'double'],
  ['gen_ai.request.presence_penalty', setting('presencePenalty'), 'double'],
  ['gen_ai.request.max_tokens', setting('maxTokens')],
  ['gen_ai.request.seed', setting('seed')],
  ['gen_ai.request.stop_sequences', setting('stopSequences')],
  [
    'gen_ai.request.choice.count',
    ({ llm }) => (llm?.settings?.choiceCount === 1 ? undefined : llm?.settings?.choiceCount)
  ],
  ['gen_ai.request.reasoning.level', setting('reasoningLevel')],
  ['gen_ai.request.previous_response.id', setting('previousResponseId')],
  ['gen_ai.request.encoding_formats', setting('encodingFormats')],
  ['gen_ai.embeddings.dimension.count', setting('dimensionCount')],
  ['gen_ai.output.type', setting('outputType')],
  ['gen_ai.response.id', of('responseId')],
  ['gen_ai.response.finish_reasons', of('finishReasons')]
]

const routed =
  <K extends keyof ModelRouting>(field: K) =>
  (ex: Exchange): ModelRouting[K] | undefined =>
    MODEL_ROUTING.get(ex)?.[field]

/** Why its target was drawn (docs/routing.md#why-a-target-was-drawn). */
export const ROUTING_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['weir.llm.routing.strategy', routed('strategy')],
  ['weir.llm.routing.target', routed('target')],
  ['weir.llm.routing.candidates', routed('candidates')],
  ['weir.llm.routing.excluded', excluded],
  ['weir.llm.routing.figure', routed('figure'), 'double'],
  ['weir.llm.routing.reason', routed('reason')],
  ['weir.llm.routing.fallback', routed('fallback')],
  ['weir.llm.routing.shadow', routed('shadow')],
  ['weir.llm.routing.continues', routed('continues')]
]

/** `b: circuit_open 812 ms`, one text for each. */
function excluded(ex: Exchange): readonly string[] | undefined {
  const all = MODEL_ROUTING.get(ex)?.excluded ?? []
  return all.length === 0 ? undefined : all.map(leftText)
}

const leftText = ({ target, reason, forMs }: LeftTarget): string =>
  `${target}: ${reason}${forMs === undefined ? '' : ` ${forMs} ms`}`

function firstChunkSeconds({ llm, startedAt }: Exchange): number | undefined {
  const ms = llm === null ? undefined : firstTokenMs(llm, startedAt)
  return ms === undefined ? undefined : ms / 1000
}

/** Undefined: it is not known what was asked. */
export function modelSpanName({ operation, requestModel }: ModelUse): string | undefined {
  if (operation === undefined) return undefined
  return requestModel === undefined ? operation : `${operation} ${requestModel}`
}
