/** The usage record of an exchange (ex.llm): provider, models, tokens, and when they came. */
import type { Usage } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { Operation, SentOperation } from '#backends/llm/routes/operation.ts'
import { charge } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { AnswerCapture } from './answer-capture.ts'
import { boundedUsage } from './token-counts.ts'

/** An attempt begins: `model` by the provider's name for it. `keeps`: the content of a stream will be read. */
export function beginUsageRecord(
  ex: Exchange,
  chat: ChatRequest,
  provider: string,
  model: string,
  keeps: boolean
): void {
  const content = new AnswerCapture(chat, keeps)
  chat.capture = content
  const operation = FORMATS[chat.client].operation ?? 'chat'
  ex.llm = { provider, operation, requestModel: model, streaming: chat.isStreamed, content }
}

/** As begin, for what is no chat. */
export function beginOperationRecord(
  ex: Exchange,
  { name }: Operation,
  provider: string,
  { model }: SentOperation
): void {
  ex.llm = { provider, operation: name ?? undefined, requestModel: model ?? undefined }
}

interface Cost {
  readonly usage: Usage | null
  readonly model: string | null
  readonly serviceTier?: string | null
  readonly errorType?: string | null
}

/** The answer's cost is known: for logs, and for limits that count tokens. */
export function settleUsage(ex: Exchange, cost: Cost): void {
  const usage = cost.usage === null ? null : boundedUsage(cost.usage)
  recordUsage(ex, cost)
  if (usage !== null) charge(ex, usage.input + usage.output)
}

/** What is known of the answer's cost, for logs alone. */
export function recordUsage(ex: Exchange, { usage: reported, model, serviceTier, errorType }: Cost): void {
  const usage = reported === null ? null : boundedUsage(reported)
  const { llm } = ex
  const noted = llm?.content instanceof AnswerCapture ? llm.content : null
  noted?.end()
  // Written out: an object that is put together of others costs more than all the rest.
  ex.llm = {
    provider: llm?.provider,
    operation: llm?.operation,
    requestModel: llm?.requestModel,
    streaming: llm?.streaming,
    content: llm?.content,
    responseModel: model ?? undefined,
    inputTokens: usage?.input,
    outputTokens: usage?.output,
    totalTokens: usage === null ? undefined : usage.input + usage.output,
    cachedInputTokens: usage?.cacheRead,
    cacheCreationInputTokens: usage === null ? undefined : usage.cacheWrite5m + usage.cacheWrite1h,
    reasoningTokens: usage?.reasoning,
    inputAudioTokens: usage?.inputAudio,
    inputImageTokens: usage?.inputImage,
    outputAudioTokens: usage?.outputAudio,
    outputImageTokens: usage?.outputImage,
    serviceTier: serviceTier ?? undefined,
    errorType: errorType ?? undefined,
    firstTokenAt: noted?.hasBegun ? noted.firstTokenAt : undefined,
    lastTokenAt: noted?.hasBegun ? noted.lastTokenAt : undefined
  }
}
