/**
 * What a call may cost is set aside before each attempt, and what it has cost is settled behind it, for the key that
 * the
 * client has shown (docs/design/045-keys-and-money.md). Without such a key nothing of this runs.
 */
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { LargeRequest } from '#backends/llm/offload/large-request.ts'
import type { Attempts } from '#backends/llm/plan/attempts.ts'
import type { ProviderPrices } from '#backends/llm/prices/provider-prices.ts'
import type { ModelNames } from '#backends/llm/routes/models.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { type AccountRefusal, KEY_USE, type KeyUse, refusalFields } from '#engine/contract/accounts.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { noteRefusedModel } from '#engine/contract/model-use.ts'
import { setRefusalMessage } from '#engine/contract/refuse.ts'
import type { Picos } from '#engine/kit/money.ts'
import { maxTokensOf } from './request-settings.ts'

/**
 * Output of a request that sets no limit: what the largest models answer at most as a rule. Where a model may answer
 * less,
 * the price book says so.
 */
const OUTPUT_TOKENS_DEFAULT = 32_768
/** Bytes of text for a token, as providers tell their users. */
const BYTES_PER_TOKEN = 4
/** Of a stream, where each token comes in an event of its own. */
const STREAM_BYTES_PER_TOKEN = 32

/** Of the provider that is tried. */
type AttemptPrices = Pick<ProviderPrices, 'estimate'>

/** The refusal is what the exchange ends with. */
export function noteRefusal(ex: Exchange, refusal: AccountRefusal): ErrorCode {
  const { code, message } = refusal
  setRefusalMessage(ex, code, message)
  ex.errorDetail ??= message
  ex.refusalHeaders = refusalFields(refusal)
  return code
}

const NOT_ALLOWED: AccountRefusal = {
  code: 'MODEL_NOT_ALLOWED',
  message: 'the key may not use this model',
  retryAfterS: null
}

/** Null: it may be used. `model`: by the client's name; '': it names none. */
export function modelRefusal(ex: Exchange, model: string): AccountRefusal | null {
  const use = keyUseOf(ex)
  if (use === null || use.isModelChecked) return null
  use.isModelChecked = true
  if (use.mayUse(model)) return null
  noteRefusedModel(ex, model)
  return NOT_ALLOWED
}

const keyUseOf = (ex: Exchange): KeyUse | null => (ex.slots === null ? null : KEY_USE.get(ex))

/** What a client is told of `known`: the models that its key may use. */
export function modelsFor(ex: Exchange, known: ModelNames): ModelNames {
  const use = keyUseOf(ex)
  if (use === null || !use.isRestricted) return known
  const named = use.modelNames.filter((name) => known.names.length === 0 || known.isServed(name))
  const names = [...new Set([...known.names.filter((name) => use.mayUse(name)), ...named])]
  return { names, isServed: (name) => known.isServed(name) && use.mayUse(name) }
}

/** Whether the client of `ex` must not see what a provider itself lists. */
export const isRestricted = (ex: Exchange): boolean => keyUseOf(ex)?.isRestricted === true

/** An attempt has been written: `ask` is called when what it may cost has been set aside; otherwise it is refused. */
export function whenReserved(
  ex: Exchange,
  state: Attempts,
  by: { readonly prices: AttemptPrices; readonly fail: BackendContext['fail'] },
  ask: () => void
): void {
  const { prices, fail } = by
  const proceed = (refusal: AccountRefusal | null): void => {
    if (refusal === null) ask()
    else fail(ex, noteRefusal(ex, refusal))
  }
  const reserved = reserve(ex, state, prices)
  if (!(reserved instanceof Promise)) {
    proceed(reserved)
    return
  }
  const { round } = state
  const isCurrent = () => state.round === round && ex.response === null && !ex.responseDone
  whenSettled(reserved, isCurrent, (refusal) => proceed(refusal))
}

/**
 * Whether the model may be used, and what the attempt may cost set aside. A promise where the books are kept
 * elsewhere.
 */
function reserve(
  ex: Exchange,
  state: Attempts,
  prices: AttemptPrices
): AccountRefusal | null | Promise<AccountRefusal | null> {
  const use = keyUseOf(ex)
  if (use === null) return null
  const { chat, editedChat } = state
  const refusal = modelRefusal(ex, chat?.model || editedChat?.model || ex.llm?.requestModel || '')
  if (refusal !== null) return refusal
  if (!use.hasBudget || isFree(state)) return null
  if (isBackground(state)) return PAID_LATER
  return use.reserve(costAtMost(ex, state, prices))
}

/** What the attempt costs that has been written, at most. Null: there is no price. */
export function costAtMost(ex: Exchange, state: Attempts, prices: AttemptPrices): Picos | null {
  const { outputTokens, units, unitsMax } = state.sentOperation?.expects ?? {}
  const outputMax = outputTokens ?? outputTokensMax(state)
  const model = ex.llm?.requestModel ?? ''
  return prices.estimate(model, inputTokensAtMost(ex, state), outputMax, unitsMax ?? units)
}

/** A token is a byte at least, so there are no more of them than bytes: what is only referred to is not among them. */
export function inputTokensAtMost(ex: Exchange, { sentOperation }: Attempts): number {
  return sentOperation?.expects?.inputTokens ?? requestBytes(ex)
}

/** Its answer, and what that has cost, are fetched later (OpenAI, "Background mode"), or never. */
function isBackground({ chat }: Attempts): boolean {
  if (chat?.client !== 'responses') return false
  // A large body is not parsed here: a text with these words is refused, too.
  return chat instanceof LargeRequest ? mayBeBackground(chat.bytes) : chat.body.background === true
}

/** A letter of the name may be written as an escape, which no client needs. */
const mayBeBackground = (bytes: Buffer): boolean =>
  bytes.includes('background') || ['\\u006', '\\u007'].some((spelled) => bytes.includes(spelled))

const PAID_LATER: AccountRefusal = {
  code: 'MODEL_NOT_ALLOWED',
  message: 'a key with a budget cannot ask for an answer in the background: what it costs is known only later',
  retryAfterS: null
}

/** Lists of models and counts of tokens cost nothing; they have no name among the operations (OpenTelemetry). */
export function isFree({ operation }: Attempts): boolean {
  return operation !== null && operation.name === null
}

const requestBytes = (ex: Exchange): number => Math.max(ex.requestBytes?.length ?? 0, ex.requestLength, 0)

/** `usual`: where the request sets no limit. */
export function outputTokensMax(
  { chat, client }: Pick<Attempts, 'chat' | 'client'>,
  usual: number = OUTPUT_TOKENS_DEFAULT
): number {
  // Of what is no chat there is no output, or no limit.
  if (chat === null) return 0
  const tokens = chat instanceof LargeRequest ? undefined : limitOf(chat.client ?? client!, chat.body)
  return (tokens ?? usual) * chat.count
}

function limitOf(client: ClientFormat, body: Parameters<typeof maxTokensOf>[1]): number | undefined {
  const tokens = maxTokensOf(client, body)
  return tokens === undefined || tokens < 1 ? undefined : Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER)
}

/** The answer's cost is known, or known better than before. */
export function settleCost(ex: Exchange): void {
  const cost = ex.llm?.cost
  if (cost !== undefined) keyUseOf(ex)?.settle(cost)
}

/** Ends of an exchange, or of an attempt, that leave a provider at work. */
const LEFT_AT_WORK: ReadonlySet<ErrorCode | null> = new Set<ErrorCode | null>([
  'CLIENT_GONE',
  'CLIENT_TOO_SLOW',
  'REQUEST_TIMEOUT',
  'UPSTREAM_TIMEOUT'
])

/**
 * The attempt is over. What nobody has said a price for is estimated from what went to the provider and came back, at
 * most
 * what was set aside: an answer that breaks off, or that nobody waits for any more, has been worked for. What comes of
 * it later is not read, since its connection is closed. `error`: why the attempt is over.
 */
export function closeAttempt(
  ex: Exchange,
  { attempt }: Pick<Attempts, 'attempt'>,
  error: ErrorCode | null = ex.error
): void {
  const use = keyUseOf(ex)
  const reserved = use?.reserved ?? null
  if (use === null || reserved === null) return
  const { cost, requestModel = '', streaming = false } = ex.llm ?? {}
  if (cost !== undefined) {
    use.settle(cost)
    return
  }
  const isAnswered = ex.firstByteAt > 0 && ex.status < 400
  if (!isAnswered && !LEFT_AT_WORK.has(error)) {
    use.settle(0)
    return
  }
  const input = Math.ceil(requestBytes(ex) / BYTES_PER_TOKEN)
  const output = isAnswered ? Math.ceil(ex.bytesSent / (streaming ? STREAM_BYTES_PER_TOKEN : BYTES_PER_TOKEN)) : 0
  use.settle(Math.min(attempt?.slot.provider.prices.estimate(requestModel, input, output) ?? 0, reserved))
}
