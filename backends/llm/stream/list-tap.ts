/**
 * Streams of generateContent as a client gets them that has not asked for `alt=sse`: one JSON list, whose elements come
 * as they are made. It stands around the tap that makes the events, and changes only how they are framed.
 * Source: Google's own answers, `[{...}` LF `,` CR LF `{...}` LF `]`; between elements JSON allows white space.
 */

import type { ChatError } from '#backends/llm/conversation.ts'
import { isJson } from '#backends/llm/formats/fields.ts'
import type { Losses, WireEvent } from '#backends/llm/formats/format.ts'
import { writeError } from '#backends/llm/formats/gemini/error.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { DROPPED, droppedList, droppedOf } from '#backends/llm/translate/dropped-fields.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseReader, SseTooLong } from '#engine/http/sse.ts'
import { type AnswerCost, BROKEN, type CostTap, NOTHING } from './cost-tap.ts'

/** What a client hears that has heard nothing for long: a list has no comments, but white space anywhere. */
export const LINE_END = Buffer.from('\n')

/** Google's system parameters may be written with a dollar ("System parameters", Google Cloud). */
const ALT = new Set(['alt', '$alt'])

/** Whether the client of a streamed answer gets it as a list. */
export function wantsList({
  client,
  isStreamed,
  query
}: Pick<ChatRequest, 'client' | 'isStreamed' | 'query'>): boolean {
  if (client !== 'gemini' || !isStreamed) return false
  for (const [name, value] of new URLSearchParams(query)) if (ALT.has(name) && value === 'sse') return false
  return true
}

export interface ListTapOptions {
  /** Gives whole server-sent events, and is never busy (ResponseTap.isBusy): those of this format are read here. */
  readonly inner: CostTap
  /** What `inner` could not say: a list has no comment for it, so its last element bears it. */
  readonly losses: Losses
  /** The answer cannot be read: the provider need not go on. */
  readonly giveUp: () => void
}

export class ListTap implements CostTap {
  readonly cost: AnswerCost
  readonly #parties: ListTapOptions
  readonly #reader = new SseReader()
  #isOpen = false
  #isClosed = false
  #hasReported = false

  constructor(parties: ListTapOptions) {
    this.#parties = parties
    this.cost = parties.inner.cost
  }

  /** Only whole elements are passed. */
  get isAtBoundary(): boolean {
    return !this.#isClosed
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#isClosed) return null
    const bytes = this.#parties.inner.body(ex, chunk, start, end)
    if (bytes === null) return null
    return bytesOf(bytes === chunk ? this.#elements(chunk, start, end) : this.#elements(bytes, 0, bytes.length))
  }

  end(ex: Exchange): Buffer | null {
    if (this.#isClosed) return null
    return this.#last(this.#parties.inner.end(ex) ?? NOTHING)
  }

  fault(ex: Exchange, code: ErrorCode): Buffer | null {
    if (this.#isClosed) return NOTHING
    const last = this.#parties.inner.fault(ex, code)
    return last === null ? null : this.#last(last)
  }

  endWithError(error: ChatError): Buffer | null {
    if (this.#isClosed) return null
    return this.#last(this.#parties.inner.endWithError(error) ?? NOTHING)
  }

  #last(bytes: Buffer): Buffer {
    const text = this.#elements(bytes, 0, bytes.length)
    return Buffer.from(this.#isClosed ? text : text + this.#close())
  }

  /** The elements that these bytes of events complete. */
  #elements(bytes: Buffer, start: number, end: number): string {
    const events: WireEvent[] = []
    try {
      this.#reader.push(bytes, start, end, events)
    } catch (error) {
      if (!(error instanceof SseTooLong)) throw error
      queueMicrotask(this.#parties.giveUp)
      return this.#broken(`the provider's answer cannot be read: ${error.message}`)
    }
    // What is no JSON would make the whole list none. It is nothing to a client of this format in events, either.
    const elements = events.map(({ data }) => data.trim()).filter(isJson)
    return elements.map((data, i) => this.#element(i === elements.length - 1 ? this.#withLosses(data) : data)).join('')
  }

  /** The line end behind it is there at once, for clients that read by lines. */
  #element(data: string): string {
    const text = `${this.#isOpen ? ',\r\n' : '['}${data}\n`
    this.#isOpen = true
    return text
  }

  #withLosses(data: string): string {
    const { fields } = this.#parties.losses
    if (!this.cost.isOver || this.#hasReported || fields.length === 0) return data
    this.#hasReported = true
    return `${data.slice(0, -1)},${JSON.stringify(DROPPED)}:${JSON.stringify(droppedList(droppedOf(fields)))}}`
  }

  #close(): string {
    this.#isClosed = true
    return this.#isOpen ? ']\n' : '[]\n'
  }

  /** Ends the list with an error of the provider's. */
  #broken(message: string): string {
    const error = { ...BROKEN, message }
    this.cost.fail(error)
    this.cost.hasBroken = true
    return this.#element(JSON.stringify(writeError(error))) + this.#close()
  }
}

const bytesOf = (text: string): Buffer | null => (text === '' ? null : Buffer.from(text))
