/** The usage record of an exchange (ex.llm): provider, models, tokens, and when they came. */
import type { StopReason, Usage } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { beginPricing, type ProviderPrices, pricedCall, searchUnits } from '#backends/llm/prices/provider-prices.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { Operation, SentOperation } from '#backends/llm/routes/operation.ts'
import { charge } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { costlyAttempt, type ModelUse, type RequestSettings } from '#engine/contract/model-use.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { Units } from '#engine/prices/cost.ts'
import { AnswerCapture } from './answer-capture.ts'
import { cut } from './request-settings.ts'
import { settleCost } from './spending.ts'
import { boundedUsage } from './token-counts.ts'

/** Choices that a span tells of. OpenAI allows 128. */
const CHOICES_MAX = 128

/** FinishReason of the GenAI conventions (gen-ai-output-messages.json); `pause` is no word of theirs. */
const FINISH_REASONS: { readonly [stop in StopReason]: string } = {
  end: 'stop',
  length: 'length',
  stopSequence: 'stop',
  tools: 'tool_call',
  filter: 'content_filter',
  refusal: 'content_filter',
  pause: 'pause',
  contextWindow: 'length',
  error: 'error'
}

/** Of a chat: its model by the client's name, '' where it names none, and by the provider's. */
export interface ChatNames {
  readonly provider: string
  readonly requested: string
  readonly model: string
}

/**
 * An attempt begins. `keeps`: the content of a stream will be read. `settings`:
 * undefined where no trace will tell them. They are taken now: bodies are dropped when the answer goes to its client.
 */
export function beginUsageRecord(
  ex: Exchange,
  chat: ChatRequest,
  { provider, requested, model }: ChatNames,
  keeps: boolean,
  settings: RequestSettings | undefined,
  prices: ProviderPrices
): void {
  beginPricing(ex, prices, chat.bytes.length)
  const content = new AnswerCapture(chat, keeps)
  chat.capture = content
  const operation = FORMATS[chat.client].operation ?? 'chat'
  const previous = costlyAttempt(ex.llm)
  const clientModel = requested || undefined
  const streaming = chat.isStreamed
  ex.llm = { provider, operation, clientModel, requestModel: model, streaming, content, settings, previous }
}

/** As begin, for what is no chat. */
export function beginOperationRecord(
  ex: Exchange,
  { name }: Operation,
  provider: string,
  { model, settings }: SentOperation,
  prices: ProviderPrices
): void {
  beginPricing(ex, prices, ex.requestBytes?.length ?? 0)
  const previous = costlyAttempt(ex.llm)
  ex.llm = { provider, operation: name ?? undefined, requestModel: model ?? undefined, settings, previous }
}

interface Cost {
  readonly usage: Usage | null
  readonly model: string | null
  readonly serviceTier?: string | null
  readonly errorType?: string | null
  readonly id?: string | null
  /** Of each choice; undefined in it: it has not ended. */
  readonly stops?: readonly (StopReason | undefined)[] | null
  /** Of a stream: all of it has come; and pieces of text that have. */
  readonly isOver?: boolean
  readonly pieceCount?: number
  /** What is counted beside tokens; absent: nothing is. */
  readonly units?: Units | undefined
}

/** The answer's cost is known: for logs, and for limits that count tokens. */
export function settleUsage(ex: Exchange, cost: Cost): void {
  const usage = cost.usage === null ? null : boundedUsage(cost.usage)
  recordUsage(ex, cost)
  if (ex.slots === null) return
  settleCost(ex)
  if (usage !== null) charge(ex, usage.input + usage.output)
}

/** What is known of the answer's cost, for logs alone. */
export function recordUsage(ex: Exchange, cost: Cost): void {
  const { usage: reported, model, serviceTier, errorType } = cost
  const usage = reported === null ? null : boundedUsage(reported)
  const { llm } = ex
  const noted = llm?.content instanceof AnswerCapture ? llm.content : null
  noted?.end()
  const priced = pricedCall(ex, {
    responseModel: model || undefined,
    requestModel: llm?.requestModel,
    usage,
    serviceTier: serviceTier ?? null,
    isPartial: cost.isOver === false || (errorType ?? null) !== null,
    pieceCount: cost.pieceCount ?? 0,
    units: cost.units
  })
  const counts = cost.units?.counts
  const isTraced = TRACE.get(ex) !== null
  // Written out: an object that is put together of others costs more than all the rest.
  ex.llm = {
    provider: llm?.provider,
    operation: llm?.operation,
    clientModel: llm?.clientModel,
    requestModel: llm?.requestModel,
    streaming: llm?.streaming,
    content: llm?.content,
    cache: llm?.cache,
    responseModel: model || undefined,
    inputTokens: usage?.input,
    outputTokens: usage?.output,
    totalTokens: usage === null ? undefined : usage.input + usage.output,
    cachedInputTokens: usage?.cacheRead,
    cacheCreationInputTokens: usage === null ? undefined : usage.cacheWrite5m + usage.cacheWrite1h,
    cachedAudioTokens: usage?.cacheReadAudio,
    cachedImageTokens: usage?.cacheReadImage,
    reasoningTokens: usage?.reasoning,
    inputAudioTokens: usage?.inputAudio,
    inputImageTokens: usage?.inputImage,
    outputAudioTokens: usage?.outputAudio,
    outputImageTokens: usage?.outputImage,
    seconds: counts?.second,
    pictures: counts?.image,
    searches: counts?.search ?? searchUnits(usage)?.counts?.search,
    continuations: llm?.continuations,
    serviceTier: serviceTier ?? undefined,
    cost: priced !== null && 'cost' in priced ? priced.cost : undefined,
    costBasis: priced !== null && 'cost' in priced ? priced.basis : undefined,
    costUnknown: priced !== null && 'unknown' in priced ? priced.unknown : undefined,
    price: priced?.price ?? undefined,
    errorType: errorType ?? undefined,
    firstTokenAt: noted?.hasBegun ? noted.firstTokenAt : undefined,
    lastTokenAt: noted?.hasBegun ? noted.lastTokenAt : undefined,
    previous: llm?.previous,
    settings: llm?.settings,
    responseId: isTraced && cost.id ? cut(cost.id) : undefined,
    finishReasons: isTraced ? finishReasonsOf(cost) : undefined
  }
}

/** Tokens of an answer that has been kept: as recordUsage has them, of a provider that was not asked. */
export function tokensOf(usage: Usage): ModelUse {
  return {
    inputTokens: usage.input,
    outputTokens: usage.output,
    totalTokens: usage.input + usage.output,
    cachedInputTokens: usage.cacheRead,
    cacheCreationInputTokens: usage.cacheWrite5m + usage.cacheWrite1h,
    reasoningTokens: usage.reasoning
  }
}

/** A choice that was expected to end and has not is one that failed. Undefined: nothing is known. */
function finishReasonsOf({ stops, errorType }: Cost): readonly string[] | undefined {
  const hasFailed = (errorType ?? null) !== null
  if ((stops ?? null) === null || stops!.length === 0) return hasFailed ? ['error'] : undefined
  return Array.from(stops!.slice(0, CHOICES_MAX), (stop) => FINISH_REASONS[stop ?? 'error'])
}
