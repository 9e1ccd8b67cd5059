/** A provider's answer on its way to the client: whole, streamed, or an error; as it is, or in the client's format. */
import type { BackendContext } from '#engine/contract/backend.ts'
import { collectResponse, replaceResponseBody } from '#engine/contract/body.ts'
import { charge } from '#engine/contract/buckets.ts'
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import type { FormatName, Usage } from './conversation.ts'
import { Losses, reasonOf } from './format.ts'
import { FORMATS } from './matrix.ts'
import { nativeTap } from './native-tap.ts'
import { askedOf, type ChatRequest } from './request.ts'
import { ChatTap, type CostTap } from './stream.ts'

export class Answers {
  readonly #collect: Hook

  constructor({ maxBufferBytes, fail }: BackendContext) {
    this.#collect = collectResponse(maxBufferBytes, fail)
  }

  /** `format`: what the provider speaks. `streamed` is told of the tap of an answer that comes as events. */
  translate(
    ex: Exchange,
    chat: ChatRequest,
    format: FormatName,
    streamed: (tap: CostTap) => void
  ): Verdict | Promise<Verdict> {
    const isStream = /^text\/event-stream\b/i.test(ex.response!.get('content-type') ?? '')
    if (isStream && ex.status < 300) {
      streamed(stream(ex, chat, format))
      return CONTINUE
    }
    if (format === chat.client && ex.status >= 300) return CONTINUE
    const collected = this.#collect(ex)
    const convert = (): Verdict => {
      const bytes = ex.responseBytes
      if (bytes !== null) {
        if (ex.status >= 300) translateError(ex, chat, format, bytes)
        else translateWhole(ex, chat, format, bytes)
      }
      return CONTINUE
    }
    return typeof collected === 'number' ? convert() : collected.then(convert)
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
  if (!isNative || hidesUsage) {
    ex.response!.remove('content-length')
    ex.responseBody = BODY_STREAM
    ex.responseLength = 0
  }
  return tap
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
    if (format !== chat.client) writeBody(ex, to.writeAnswer(answer, askedOf(chat), new Losses()))
  } catch (error) {
    // What is of the client's own format it may judge by itself.
    if (format === chat.client) return
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
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = usage ?? {}
  ex.llm = {
    ...ex.llm,
    responseModel: model ?? undefined,
    ...(usage === null ? {} : { inputTokens: input, outputTokens: output, totalTokens: input + output }),
    cachedInputTokens: cacheRead,
    reasoningTokens: reasoning
  }
  if (usage !== null) charge(ex, input + output)
}
