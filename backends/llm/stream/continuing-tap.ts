/**
 * A stream that another provider goes on with when it breaks (docs/routing.md#streams-that-break). It stands ahead of
 * guards and of translation: for them the provider that has begun says the rest.
 */
import type { ChatError, ChatEvent, ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import type { StreamReader, WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Fail } from '#engine/contract/body.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { AnswerSoFar } from './answer-so-far.ts'
import { ContinuedWriter, ResponsesNames } from './continued-writer.ts'
import { type CostTap, isOfProvider } from './cost-tap.ts'
import { type Framing, sseFraming } from './framing.ts'
import { OuterTap } from './outer-tap.ts'
import { frame } from './translating-tap.ts'

/** What has been said, and how the rest of it is written. */
export interface Broken {
  readonly soFar: AnswerSoFar
  readonly writer: ContinuedWriter
  readonly cost: CostTap['cost']
}

export interface ContinuingOptions {
  readonly format: ClientFormat
  /** Ends the response of the provider. */
  readonly fail: Fail
  /** Begins to go on. False: nobody does. */
  readonly next: (ex: Exchange, broken: Broken) => boolean
}

export class ContinuingTap extends OuterTap {
  readonly #options: ContinuingOptions
  readonly #reader: StreamReader
  readonly #names: ResponsesNames | null
  readonly #soFar = new AnswerSoFar()
  #framing: Framing = sseFraming()
  /** The error with which the provider has given up: it is the client's when nobody goes on. */
  #error: ChatError | null = null

  /** `inner` gets server-sent events. */
  constructor(inner: CostTap, options: ContinuingOptions) {
    super(inner)
    this.#options = options
    this.#reader = FORMATS[options.format as FormatName].streamReader()
    this.#names = options.format === 'responses' ? new ResponsesNames() : null
  }

  /** Whole events alone go on: behind any of them the rest may follow. */
  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#error !== null) return null
    const events: WireEvent[] = []
    let text = ''
    try {
      this.#framing.push(chunk, start, end, events)
    } catch {
      this.#soFar.lose()
      return this.inner.body(ex, chunk, start, end)
    }
    for (const event of events) {
      this.#error = this.#hear(event)
      if (this.#error !== null) {
        // Not in the middle of what the provider is saying. Its end may have come by then, and another one goes on.
        queueMicrotask(() => {
          if (this.#error !== null) this.#options.fail(ex, 'UPSTREAM_PROTOCOL')
        })
        break
      }
      text += frame(event)
    }
    return text === '' ? null : this.#pass(ex, text)
  }

  #pass(ex: Exchange, text: string): Buffer | null {
    const bytes = Buffer.from(text)
    return this.inner.body(ex, bytes, 0, bytes.length)
  }

  /** Null: the event is for the client. */
  #hear(event: WireEvent): ChatError | null {
    this.#names?.hear(event)
    let heard: readonly ChatEvent[] = []
    try {
      heard = this.#reader.read(event)
    } catch {
      this.#soFar.lose()
    }
    for (const one of heard) {
      if (one.kind === 'error' && isOfProvider(one.error) && this.#soFar.isContinuable) return one.error
      this.#soFar.note(one)
    }
    return null
  }

  override goesOn(ex: Exchange, code: ErrorCode | null): boolean {
    const isFault = code === null || ERRORS[code].source === 'upstream'
    if (!isFault || this.cost.isOver || this.isBusy || !this.isAtBoundary || !this.#soFar.isContinuable) return false
    // Some formats have no mark of their end: the reader knows whether it is whole.
    if (code === null && (this.#reader.finish?.() ?? null) !== null) return false
    const { format, next } = this.#options
    const writer = new ContinuedWriter(format, this.#soFar, this.#names, this.cost.usage)
    if (!next(ex, { soFar: this.#soFar, writer, cost: this.cost })) return false
    this.#error = null
    // What has come of half an event was never heard.
    this.#framing = sseFraming()
    return true
  }

  override end(ex: Exchange): Buffer | null {
    return this.#error === null ? super.end(ex) : this.#giveUp(this.#error)
  }

  override fault(ex: Exchange, code: ErrorCode): Buffer | null {
    return this.#error === null ? super.fault(ex, code) : this.#giveUp(this.#error)
  }

  #giveUp(error: ChatError): Buffer | null {
    const last = this.inner.endWithError(error)
    this.cost.hasBroken = true
    return last
  }
}
