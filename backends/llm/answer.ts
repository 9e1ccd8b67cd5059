/** A provider's answer on its way to the client: whole, streamed, or an error; as it is, or in the client's format. */
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody, whenResponse } from '#engine/contract/body.ts'
import { charge } from '#engine/contract/buckets.ts'
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import { SseReader } from '#engine/http/sse.ts'
import type { AiRejection } from '#engine/ir/snapshot.ts'
import type { FormatName, Usage } from './conversation.ts'
import { FormatError, Losses, reasonOf } from './format.ts'
import type { Guards } from './guards/guards.ts'
import { rejectionBody } from './guards/rejection.ts'
import { FORMATS } from './matrix.ts'
import { nativeTap } from './native-tap.ts'
import { askedOf, type ChatRequest } from './request.ts'
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
  readonly #guards: Guards

  constructor(context: BackendContext, guards: Guards) {
    this.#context = context
    this.#guards = guards
  }

  translate(ex: Exchange, { chat, format, proceed, streamed }: Translation): ReturnType<AnswerHook> {
    const isStream = /^text\/event-stream\b/i.test(ex.response!.get('content-type') ?? '')
    const isGuarded = this.#guards.guardsAnswers && ex.status < 300
    if (isStream && ex.status < 300 && !(isGuarded && this.#guards.needsWhole)) {
      const tap = stream(ex, chat, format)
      streamed(isGuarded ? this.#guardStream(ex, format, tap) : tap)
      return CONTINUE
    }
    if (isGuarded) return this.#guarded(ex, { chat, format, proceed, streamed }, isStream)
    if (format === chat.client && ex.status >= 300) return CONTINUE
    const { maxBufferBytes, fail } = this.#context
    const verdict = whenResponse(ex, maxBufferBytes, fail, () => {
      convert(ex, chat, format)
      proceed(ex)
    })
    if (verdict === CONTINUE) convert(ex, chat, format)
    return verdict
  }

  #guardStream(ex: Exchange, format: FormatName, inner: CostTap): CostTap {
    ex.tap = this.#guards.tap(format, inner, new SseReader())
    asStream(ex)
    return inner
  }

  /** The answer is kept until the guards have seen all of it. */
  async #guarded(ex: Exchange, { chat, format, streamed }: Translation, isStream: boolean): Promise<Verdict> {
    const { maxBufferBytes, fail } = this.#context
    await new Promise<void>((resolve) => {
      if (whenResponse(ex, maxBufferBytes, fail, resolve) === CONTINUE) resolve()
    })
    const given = ex.responseBytes ?? Buffer.alloc(0)
    const refused = await this.#guards.answer(ex, format, isStream ? new SseReader() : null)
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.localReply !== null || ex.responseDone) return CONTINUE
    if (refused !== null) {
      // It has been paid for all the same.
      if (isStream) streamed(heldStream(ex, chat, format, given).tap)
      else readCost(ex, format, given)
      writeRejection(ex, chat, refused)
    } else if (isStream) {
      const { tap, bytes } = heldStream(ex, chat, format, ex.responseBytes ?? given)
      streamed(tap)
      replaceResponseBody(ex, bytes)
    } else convert(ex, chat, format)
    return CONTINUE
  }
}

/** A stream that has been kept, as the client gets it. */
function heldStream(ex: Exchange, chat: ChatRequest, format: FormatName, given: Buffer) {
  const tap = stream(ex, chat, format)
  ex.tap = null
  const pieces = [tap.body(ex, given, 0, given.length), tap.end(ex)]
  return { tap, bytes: Buffer.concat(pieces.filter((piece) => piece !== null)) }
}

function writeRejection(ex: Exchange, { client }: ChatRequest, refused: AiRejection): void {
  const { body, contentType } = rejectionBody(client, refused)
  ex.error ??= 'FORBIDDEN'
  ex.status = refused.status
  replaceResponseBody(ex, Buffer.from(body))
  ex.response!.set('Content-Type', contentType)
}

/** The whole body is here. */
function convert(ex: Exchange, chat: ChatRequest, format: FormatName): void {
  const bytes = ex.responseBytes
  if (bytes === null) return
  if (ex.status >= 300) translateError(ex, chat, format, bytes)
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

function stream(ex: Exchange, chat: ChatRequest, format: FormatName): CostTap {
  const isNative = format === chat.client
  const hidesUsage = isNative && format === 'completions' && !chat.wantsUsage
  const from = FORMATS[format]!
  const writer = () => FORMATS[chat.client]!.streamWriter(askedOf(chat))
  const native = isNative ? nativeTap({ format, reader: from.streamReader(), writer, hidesUsage }) : null
  const tap = native ?? new ChatTap({ from, writer: writer(), isNative, hidesUsage })
  ex.tap = tap
  if (!isNative || hidesUsage) asStream(ex)
  return tap
}

/** Nobody knows yet how long it will be. */
function asStream(ex: Exchange): void {
  ex.response!.remove('content-length')
  ex.responseBody = BODY_STREAM
  ex.responseLength = 0
}

function translateError(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  const error = FORMATS[format]!.readError(ex.status, bytes.toString())
  writeBody(ex, FORMATS[chat.client]!.writeError(error))
}

function translateWhole(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  const to = FORMATS[chat.client]!
  try {
    const answer = FORMATS[format]!.readAnswer(JSON.parse(bytes.toString()))
    settle(ex, answer.usage, answer.model)
    writeBody(ex, to.writeAnswer(answer, askedOf(chat), new Losses()))
  } catch (error) {
    ex.status = 502
    const message = `the provider's answer cannot be read: ${reasonOf(error)}`
    writeBody(ex, to.writeError({ status: 502, type: 'internal', message, code: null, param: null }))
  }
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
    responseModel: model ?? undefined,
    inputTokens: usage?.input,
    outputTokens: usage?.output,
    totalTokens: usage === null ? undefined : usage.input + usage.output,
    cachedInputTokens: usage?.cacheRead ?? 0,
    reasoningTokens: usage?.reasoning ?? 0
  }
  if (usage !== null) charge(ex, usage.input + usage.output)
}
