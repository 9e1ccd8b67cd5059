/** A provider's answer on its way to the client: whole, streamed, or an error; as it is, or in the client's format. */
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody, whenResponse } from '#engine/contract/body.ts'
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE } from '#engine/contract/filter.ts'
import type { FormatName } from './conversation.ts'
import { DROPPED, listOf } from './dropped.ts'
import { FormatError, Losses, reasonOf } from './format.ts'
import { FORMATS } from './matrix.ts'
import { nativeTap } from './native-tap.ts'
import { NotedTap } from './noted-tap.ts'
import { type Silence, WatchedTap } from './pulse.ts'
import { askedOf, type ChatRequest } from './request.ts'
import { settle } from './said.ts'
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
  readonly #silence: Silence

  constructor(context: BackendContext, silence: Silence) {
    this.#context = context
    this.#silence = silence
  }

  translate(ex: Exchange, { chat, format, proceed, streamed }: Translation): ReturnType<AnswerHook> {
    const response = ex.response!
    const isNative = format === chat.client
    // Between the provider and this gateway, as the client's are between the client and the gateway.
    response.remove('set-cookie')
    const isCoded = (response.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity'
    // Of its own format a client may undo what nobody asked for: it passes, and is not counted.
    if (isCoded && isNative && ex.status < 300) return CONTINUE
    const why = unreadable(ex.status, isCoded && !isNative)
    const { maxBufferBytes, fail } = this.#context
    if (why === null && ex.status < 300 && /^text\/event-stream\b/i.test(response.get('content-type') ?? '')) {
      const tap = new WatchedTap(
        tapOf(chat, format, () => fail(ex, 'UPSTREAM_PROTOCOL')),
        this.#silence,
        ex,
        fail
      )
      stream(ex, chat, format, tap)
      streamed(tap)
      return CONTINUE
    }
    if (why === null && isNative && ex.status >= 300) return CONTINUE
    const verdict = whenResponse(ex, maxBufferBytes, fail, () => {
      convert(ex, chat, format, why)
      proceed(ex)
    })
    if (verdict === CONTINUE) convert(ex, chat, format, why)
    return verdict
  }
}

/** Why the answer cannot be one that a client understands; null: it may be. */
function unreadable(status: number, isCoded: boolean): string | null {
  // A client that followed would go around this gateway, with its credential.
  if (status >= 300 && status < 400) return 'it sends the request elsewhere'
  return isCoded ? 'it is compressed, although identity was asked for' : null
}

/** The whole body is here. */
function convert(ex: Exchange, chat: ChatRequest, format: FormatName, why: string | null): void {
  const bytes = ex.responseBytes
  if (bytes !== null && ex.status < 300) chat.noted?.whole(format, bytes)
  if (why !== null) refuse(ex, chat, why)
  else if (bytes === null) return
  else if (ex.status >= 300) translateError(ex, chat, format, bytes)
  else if (format === chat.client) readCost(ex, format, bytes)
  else translateWhole(ex, chat, format, bytes)
}

function refuse(ex: Exchange, chat: ChatRequest, why: string): void {
  ex.status = 502
  ex.response!.remove('location')
  const message = `the provider's answer cannot be read: ${why}`
  const error = { status: 502, type: 'internal', message, code: null, param: null } as const
  writeBody(ex, FORMATS[chat.client]!.writeError(error))
}

/** Of an answer that goes to the client as it is. */
function readCost(ex: Exchange, format: FormatName, bytes: Buffer): void {
  try {
    const { usage, model } = FORMATS[format]!.readCost(JSON.parse(bytes.toString()))
    settle(ex, { usage, model })
  } catch (error) {
    // What is of the client's own format it may judge by itself.
    if (!(error instanceof FormatError) && !(error instanceof SyntaxError)) throw error
  }
}

function tapOf(chat: ChatRequest, format: FormatName, giveUp: () => void): CostTap {
  const isNative = format === chat.client
  const hidesUsage = isNative && format === 'completions' && !chat.wantsUsage
  const from = FORMATS[format]!
  const losses = new Losses()
  const writer = () => FORMATS[chat.client]!.streamWriter(askedOf(chat), losses)
  const native = isNative ? nativeTap({ format, reader: from.streamReader(), writer, hidesUsage }) : null
  return native ?? new ChatTap({ from, writer: writer(), losses, isNative, giveUp })
}

function stream(ex: Exchange, chat: ChatRequest, format: FormatName, tap: CostTap): void {
  ex.tap = chat.noted === null ? tap : new NotedTap(tap, chat.noted, format)
  // An error, or a comment, may make any stream longer than the provider has said.
  ex.response!.remove('content-length')
  ex.responseBody = BODY_STREAM
  ex.responseLength = 0
}

function translateError(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  const error = FORMATS[format]!.readError(ex.status, bytes.toString())
  writeBody(ex, FORMATS[chat.client]!.writeError(error))
}

function translateWhole(ex: Exchange, chat: ChatRequest, format: FormatName, bytes: Buffer): void {
  const losses = new Losses()
  try {
    const answer = FORMATS[format]!.readAnswer(JSON.parse(bytes.toString()))
    settle(ex, answer)
    writeBody(ex, FORMATS[chat.client]!.writeAnswer(answer, askedOf(chat), losses))
  } catch (error) {
    refuse(ex, chat, reasonOf(error))
    return
  }
  if (losses.fields.length === 0) return
  const before = ex.response!.get(DROPPED)
  const now = listOf(losses.fields)
  ex.response!.set(DROPPED, before === undefined ? now : `${before}, ${now}`)
}

function writeBody(ex: Exchange, body: object): void {
  replaceResponseBody(ex, Buffer.from(JSON.stringify(body)))
  ex.response!.set('Content-Type', 'application/json')
}
