/** What one exchange asked of a model and what came of it: for expressions, logs and metrics. */
import { decimalText, PICO_PLACES, type Picos, plusPicos } from '#engine/kit/money.ts'
import type { Price } from './price-list.ts'
import { Slot, type SlotHolder } from './slot.ts'

/** JSON as expressions read it. */
export type JsonValue = readonly unknown[] | Readonly<Record<string, unknown>>

/** Plain data from which a row of the jobs (JobRows) makes a ModelContent, in another thread. */
export interface ContentJob {
  readonly job: string
  readonly argument: object
}

/**
 * Prompts and answers, computed on first use from data that the backend holds anyway. Undefined: not known here. Must
 * not throw.
 */
export interface ModelContent {
  /** Its JSON in the client's format, as the configuration has edited it, ahead of translation. */
  request(): JsonValue | undefined
  /** Messages in order: { role, content }, content as text. */
  prompt(): JsonValue | undefined
  /** Text of each answer. */
  completion(): JsonValue | undefined
  /** { id, name, arguments }, arguments as JSON text. */
  toolCalls(): JsonValue | undefined
  /** Sampling settings of the request by their OpenTelemetry names: temperature, max_tokens, ... */
  params(): JsonValue | undefined
  /** Of a whole answer; streams tell it in ModelUse. */
  serviceTier(): string | undefined
  /** How another thread gets the same; null: there is so little of it that it can be worked out here. */
  elsewhere(): ContentJob | null
}

/**
 * What a request asks beside its content, in the client's format after the edits of the configuration: gen_ai.request.*
 * of the OpenTelemetry GenAI conventions. Undefined: it does not say.
 */
export interface RequestSettings {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly maxTokens?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly seed?: number
  readonly choiceCount?: number
  /** Of embeddings. */
  readonly dimensionCount?: number
  readonly encodingFormats?: readonly string[]
  readonly stopSequences?: readonly string[]
  /** gen_ai.output.type: text, json, image, speech. */
  readonly outputType?: string
  readonly reasoningLevel?: string
  readonly previousResponseId?: string
}

/**
 * What a cost rests on: the provider's own figure; prices for all of its usage; for the usage that was known when the
 * answer broke off; for tokens that nobody has told, estimated from the text.
 */
export type CostBasis = 'provider' | 'usage' | 'partial' | 'estimated'

/**
 * Where an answer came from, for backends that keep them. `semantic`: it was kept for a like question; `bypass`: it was
 * not looked for.
 */
export type CacheStatus = 'hit' | 'semantic' | 'miss' | 'bypass'

/** Whether no provider was asked for it. */
export const isFromCache = (status: string | null | undefined): boolean => status === 'hit' || status === 'semantic'

/** Of the last attempt. A new object per attempt; its backend fills it in as it learns more. */
export interface ModelUse {
  /** gen_ai.provider.name of the OpenTelemetry GenAI conventions. */
  readonly provider?: string | undefined
  /** gen_ai.operation.name. */
  readonly operation?: string | undefined
  /** As the client named it, ahead of what the configuration makes of that. Undefined: it named none. */
  readonly clientModel?: string | undefined
  /** By the provider's name for it. */
  readonly requestModel?: string | undefined
  readonly responseModel?: string | undefined
  readonly streaming?: boolean | undefined
  /** Tokens. Input with what was read from and written to caches, output with reasoning. */
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly cacheCreationInputTokens?: number | undefined
  /** Parts of cachedInputTokens. */
  readonly cachedAudioTokens?: number | undefined
  readonly cachedImageTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly inputAudioTokens?: number | undefined
  readonly inputImageTokens?: number | undefined
  readonly outputAudioTokens?: number | undefined
  readonly outputImageTokens?: number | undefined
  /** What is paid for beside tokens: sound by the second, pictures, searches. Undefined: nothing of it. */
  readonly seconds?: number | undefined
  readonly pictures?: number | undefined
  readonly searches?: number | undefined
  readonly serviceTier?: string | undefined
  /** Undefined: answers are not kept. */
  readonly cache?: CacheStatus | undefined
  /** What this attempt costs. Undefined: not known, never 0 for that. */
  readonly cost?: Picos | undefined
  readonly costBasis?: CostBasis | undefined
  /** Why there is no cost, where prices are in use. */
  readonly costUnknown?: string | undefined
  /** Of a stream that broke: how often another provider has gone on with it. Undefined: it has not. */
  readonly continuations?: number | undefined
  /** The attempt before it that has cost something, which has another one behind it in turn. */
  readonly previous?: ModelUse | undefined
  /** Where the cost is from; undefined: from the provider itself, or there is none. */
  readonly price?: Price | undefined
  /** Of a streamed answer: milliseconds of the monotonic clock when its first and its last piece came. */
  readonly firstTokenAt?: number | undefined
  readonly lastTokenAt?: number | undefined
  /** error.type, where the answer says by itself that it failed. */
  readonly errorType?: string | undefined
  readonly content?: ModelContent | undefined
  // What follows is known only of exchanges with a trace.
  readonly settings?: RequestSettings | undefined
  readonly responseId?: string | undefined
  /** By the conventions' words (stop, length, tool_call, ...), one for each choice. */
  readonly finishReasons?: readonly string[] | undefined
}

/** Milliseconds from the request to the first piece of a streamed answer; undefined: it was none. */
export function firstTokenMs({ firstTokenAt }: ModelUse, startedAt: number): number | undefined {
  return firstTokenAt === undefined ? undefined : firstTokenAt - startedAt
}

/** Milliseconds per token after the first one, of a streamed answer (OpenTelemetry: time per output token). */
export function perTokenMs({ firstTokenAt, lastTokenAt, outputTokens = 0 }: ModelUse): number | undefined {
  if (firstTokenAt === undefined || lastTokenAt === undefined || outputTokens < 2) return undefined
  return (lastTokenAt - firstTokenAt) / (outputTokens - 1)
}

const REFUSED_MODEL = new Slot<string>()

/** The model that the client of `ex` has named, which is refused before a provider is chosen. */
export const noteRefusedModel = (ex: SlotHolder, model: string): void => REFUSED_MODEL.set(ex, model)

export const refusedModel = (ex: SlotHolder): string | null => (ex.slots === null ? null : REFUSED_MODEL.get(ex))

/** What an attempt that follows `llm` has for `previous`. Bodies of answers are not kept for it. */
export function costlyAttempt(llm: ModelUse | null): ModelUse | undefined {
  if (llm === null) return undefined
  return (llm.cost ?? 0) > 0 ? { ...llm, content: undefined } : llm.previous
}

/** What all attempts have cost together, as far as it is known; undefined: of none it is. */
export function totalCost({ cost, previous }: ModelUse): Picos | undefined {
  if (previous === undefined) return cost
  return plusPicos(totalCost(previous) ?? 0, cost ?? 0)
}

/** The weakest first. */
const BASES: readonly CostBasis[] = ['estimated', 'partial']

/** What totalCost rests on: `partial` where an attempt has a cost that is not known. */
export function totalBasis({ cost, costBasis, costUnknown, previous }: ModelUse): CostBasis | undefined {
  if (previous === undefined) return costBasis
  const own = cost === undefined && costUnknown !== undefined ? 'partial' : costBasis
  const before = totalBasis(previous)
  return BASES.find((basis) => own === basis || before === basis) ?? own ?? before
}

/** An amount as a float in units of the currency: for comparisons and for people, never for books. */
export function unitsOf(cost: Picos | undefined): number | undefined {
  return cost === undefined ? undefined : cost / 10 ** PICO_PLACES
}

/** As decimal text, exactly. */
export function costText(cost: Picos | undefined): string | undefined {
  return cost === undefined ? undefined : decimalText(cost, PICO_PLACES)
}
