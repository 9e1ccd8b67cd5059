/** A provider's answer on its way to the client: whole, streamed, or an error; as it is, or in the client's format. */
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody, whenResponse } from '#engine/contract/body.ts'
import { charge } from '#engine/contract/buckets.ts'
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE } from '#engine/contract/filter.ts'
import type { FormatName, Usage } from './conversation.ts'
import { FormatError, Losses, reasonOf } from './format.ts'
import { type Framing, framingOf } from './framing.ts'
import { FORMATS } from './matrix.ts'
import { nativeTap } from './native-tap.ts'
import { askedOf, type ChatRequest } from './request.ts'
import type { Operation } from './routes/operation.ts'
import { ChatTap, type CostTap } from './stream.ts'

export type Proceed = Parameters<AnswerHook>[1]

/** What is to happen to one answer. */
export interface Translation {
  readonly chat: ChatRequest
  /** What the provider speaks. */
  readonly format: FormatName
  readonly proceed: Proceed
  /** Told of the tap of an answer that comes as events. */
  readonly streamed: (tap: CostTap) => void
}

export class Answers {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  translate(ex: Exchange, { chat, format, proceed, streamed }: Translation): ReturnType<AnswerHook> {
    const framing = ex.status < 300 ? framingOf(ex.response!.get('content-type') ?? '') : null
    if (framing !== null) {
      streamed(stream(ex, chat, format, framing))
      return CONTINUE
    }
    if (format === chat.client && ex.status >= 300) return CONTINUE
    return this.#whole(ex, proceed, (bytes) => convert(ex, chat, format, bytes))
  }

  /** Of what is no chat. */
  tell(ex: Exchange, operation: Operation, proceed: Proceed): ReturnType<AnswerHook> {
    const { client, spoken, read } = operation
    const isError = ex.status >= 300
    if (read === null || (isError && client === spoken)) return CONTINUE
    return this.#whole(ex, proceed, (bytes) => {
      if (isError) translateError(ex, client, spoken, bytes)
      else tellWhole(ex, operation, bytes)
    })
  }

  #whole(ex: Exchange, proceed: Proceed, translate: (bytes: Buffer) => void): ReturnType<AnswerHook> {
    const { maxBufferBytes, fail } = this.#context
    const done = (): void => {
      if (ex.responseBytes !== null) translate(ex.responseBytes)
    }
    const verdict = whenResponse(ex, maxBufferBytes, fail, () => {
      done()
      proceed(ex)
    })
    if (verdict === CONTINUE) done()
    return verdict
  }
}

/** The whole body is here. */
function convert(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  if (ex.status >= 300) translateError(ex, chat.client, format, bytes)
  else if (format === chat.client) readCost(ex, format, bytes)
  else translateWhole(ex, chat, format, bytes)
}

/** Of an answer that goes to the client as it is. */
function readCost(ex: Exchange, format: FormatName, bytes: Buffer): void {
  try {
    const { usage, model } = FORMATS[format]!.readCost(JSON.parse(bytes.toString()))
    settle(ex, usage, model)
  } catch (error) {
    // What is of the client's own format it may judge by itself.
    if (!(error instanceof FormatError) && !(error instanceof SyntaxError)) throw error
  }
}

function stream(ex: Exchange, chat: ChatRequest, format: FormatName, framing: Framing): CostTap {
  const isNative = format === chat.client
  const hidesUsage = isNative && format === 'completions' && !chat.wantsUsage
  const from = FORMATS[format]!
  const writer = () => FORMATS[chat.client]!.streamWriter(askedOf(chat))
  const native = isNative ? nativeTap({ format, reader: from.streamReader(), writer, hidesUsage }) : null
  const tap = native ?? new ChatTap({ from, framing, writer: writer(), isNative, hidesUsage })
  ex.tap = tap
  if (!isNative) ex.response!.set('Content-Type', 'text/event-stream')
  if (!isNative || hidesUsage) {
    ex.response!.remove('content-length')
    ex.responseBody = BODY_STREAM
    ex.responseLength = 0
  }
  return tap
}

function translateError(ex: Exchange, client: FormatName, format: FormatName, bytes: Buffer): void {
  const error = FORMATS[format]!.readError(ex.status, bytes.toString())
  writeBody(ex, FORMATS[client]!.writeError(error))
}

function tellWhole(ex: Exchange, { client, spoken, read }: Operation, bytes: Buffer): void {
  try {
    const { body, usage } = read!(JSON.parse(bytes.toString()))
    if (usage !== null) settle(ex, usage, null)
    if (body !== null) writeBody(ex, body)
  } catch (error) {
    if (client !== spoken) refuseAnswer(ex, client, error)
  }
}

function translateWhole(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  const to = FORMATS[chat.client]!
  try {
    const answer = FORMATS[format]!.readAnswer(JSON.parse(bytes.toString()))
    settle(ex, answer.usage, answer.model)
    writeBody(ex, to.writeAnswer(answer, askedOf(chat), new Losses()))
  } catch (error) {
    refuseAnswer(ex, chat.client, error)
  }
}

function refuseAnswer(ex: Exchange, client: FormatName, why: unknown): void {
  ex.status = 502
  const message = `the provider's answer cannot be read: ${reasonOf(why)}`
  writeBody(ex, FORMATS[client]!.writeError({ status: 502, type: 'internal', message, code: null, param: null }))
}

function writeBody(ex: Exchange, body: object): void {
  replaceResponseBody(ex, Buffer.from(JSON.stringify(body)))
  ex.response!.set('Content-Type', 'application/json')
}

/** The answer's cost is known: for logs, and for limits that count tokens. */
export function settle(ex: Exchange, usage: Usage | null, model: string | null): void {
  const said = ex.llm
  // Written out: an object that is put together of others costs 4 us, as much as the parsing of an answer.
  ex.llm = {
    provider: said?.provider,
    requestModel: said?.requestModel,
    streaming: said?.streaming,
    responseModel: model || undefined,
    inputTokens: usage?.input,
    outputTokens: usage?.output,
    totalTokens: usage === null ? undefined : usage.input + usage.output,
    cachedInputTokens: usage?.cacheRead ?? 0,
    reasoningTokens: usage?.reasoning ?? 0
  }
  if (usage !== null) charge(ex, usage.input + usage.output)
}
