/** Streams of events from a provider to a client: read for what they cost, and translated where they must be. */

import type { ChatError, ChatEvent } from '#backends/llm/conversation.ts'
import { isJson } from '#backends/llm/formats/fields.ts'
import {
  type Losses,
  type ProviderFormat,
  reasonOf,
  type StreamReader,
  type StreamWriter,
  type WireEvent
} from '#backends/llm/formats/format.ts'
import { droppedComment } from '#backends/llm/translate/dropped-fields.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type SseEvent, SseReader, SseTooLong } from '#engine/http/sse.ts'
import { BROKEN, type CostTap, EndingTap, NOTHING } from './cost-tap.ts'
import { EventBytes } from './event-bytes.ts'
import { EventOrder } from './event-order.ts'
import { type Framing, LINE_ENDS } from './framing.ts'

export interface TranslatingTapOptions {
  /** What the provider speaks. */
  readonly from: ProviderFormat
  readonly framing: Framing
  readonly writer: StreamWriter
  /** What the writer lacks: told before the end. */
  readonly losses: Losses
  /** Text of events that tells `losses`; absent: a comment. */
  readonly writeLost?: (fields: readonly string[]) => string
  /** Same format on both sides: events pass as they are. */
  readonly isNative: boolean
  /** Answers that were asked for at once; absent: one. */
  readonly count?: number
  /** The answer cannot be read: the provider need not go on. */
  readonly giveUp?: () => void
}

export class TranslatingTap extends EndingTap implements CostTap {
  readonly #parties: TranslatingTapOptions
  readonly #reader: StreamReader
  readonly #order = new EventOrder()
  /** Of a native stream. */
  readonly #bytes: EventBytes | null
  /** Native, with an unknown event. */
  #isUnread = false
  /** Native, and too long to be read. */
  #isDeaf = false

  constructor(parties: TranslatingTapOptions) {
    super()
    this.#parties = parties
    this.#reader = parties.from.streamReader(parties.count)
    this.#bytes = parties.isNative ? new EventBytes() : null
  }

  get isAtBoundary(): boolean {
    return this.#bytes === null || this.#bytes.isBetween
  }

  body(_ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#bytes === null) return this.#translated(chunk, start, end)
    this.#read(chunk, start, end)
    return this.#bytes.take(chunk, start, end)
  }

  /** The last event may lack its empty line. */
  end(): Buffer | null {
    let last: Buffer | null = null
    if (this.#bytes === null) last = this.#translatedEnd()
    else {
      const rest = this.#bytes.rest()
      this.#read(LINE_ENDS, 0, LINE_ENDS.length)
      const finish = this.cost.isOver ? null : (this.#reader.finish?.() ?? null)
      if (finish !== null) {
        for (const one of finish.events) this.cost.note(one)
        return Buffer.concat([rest === null ? NOTHING : wholeEvents(rest), Buffer.from(finish.mark)])
      }
      // Half an event is dropped.
      if (rest !== null && (this.cost.isOver || this.#isUnread)) last = Buffer.concat([rest, LINE_ENDS])
    }
    if (this.cost.isOver || this.#isUnread) return last
    const error = this.breakOff({ ...BROKEN, message: 'the provider ended its answer before it was complete' })
    return last === null || error === null ? (last ?? error) : Buffer.concat([last, error])
  }

  protected errorWriter(): StreamWriter {
    return this.#parties.writer
  }

  /** Of a native stream, whose events pass as they are: reading them is for the gateway alone. */
  #read(chunk: Buffer, start: number, end: number): void {
    if (this.#isDeaf) return
    const events: WireEvent[] = []
    try {
      this.#parties.framing.push(chunk, start, end, events)
    } catch {
      this.#isDeaf = true
      this.#isUnread = true
    }
    for (const event of events) for (const one of this.#heard(event)) this.cost.note(one)
  }

  /** What is of the client's own format it may judge by itself. */
  #heard(event: WireEvent): readonly ChatEvent[] {
    try {
      return this.#reader.read(event)
    } catch {
      // News that are not known here may be the end of the answer; what is no JSON is nothing.
      if (isJson(event.data)) this.#isUnread = true
      return []
    }
  }

  #translated(chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.cost.isOver) return null
    const events: WireEvent[] = []
    let text = ''
    try {
      this.#parties.framing.push(chunk, start, end, events)
      for (const event of events) text += this.#translate(event)
    } catch (error) {
      const last = this.breakOff(malformed(error))
      if (this.#parties.giveUp !== undefined) queueMicrotask(this.#parties.giveUp)
      // What came before it in the same piece is the client's.
      return last === null ? Buffer.from(text) : Buffer.concat([Buffer.from(text), last])
    }
    return text === '' ? null : Buffer.from(text)
  }

  #translatedEnd(): Buffer | null {
    const last = this.#translated(LINE_ENDS, 0, LINE_ENDS.length)
    const end = this.cost.isOver ? '' : this.#written(this.#reader.finish?.()?.events ?? [])
    return end === '' ? last : Buffer.concat([last ?? NOTHING, Buffer.from(end)])
  }

  #translate(event: WireEvent): string {
    return this.cost.isOver ? '' : this.#written(this.#reader.read(event))
  }

  #written(events: readonly ChatEvent[]): string {
    let text = ''
    for (const one of events) {
      if (this.cost.isOver) break
      if (!this.#order.admits(one)) continue
      const ordered = one.kind === 'stop' ? this.#order.stopped(one) : one
      this.cost.note(ordered)
      if (one.kind === 'done') text += this.#beforeDone()
      text += this.#parties.writer.write(ordered)
    }
    return text
  }

  /** Reasons to stop that the provider has not given, and what could not be said. */
  #beforeDone(): string {
    const { writer, losses, writeLost } = this.#parties
    let text = ''
    for (const choice of this.#order.unstopped) {
      const stop = this.#order.stopped({ kind: 'stop', choice, stop: 'end', stopSequence: null })
      this.cost.note(stop)
      text += writer.write(stop)
    }
    for (const field of this.#reader.lost ?? []) losses.add(field)
    return text + (writeLost ?? droppedComment)(losses.fields)
  }
}

function malformed(error: unknown): ChatError {
  const why = error instanceof SseTooLong ? error.message : reasonOf(error)
  return { ...BROKEN, message: `the provider's answer cannot be read: ${why}` }
}

/** Last events that lack their empty line, with it; nothing where the last one is only half of one. */
export function wholeEvents(rest: Buffer): Buffer {
  const bytes = Buffer.concat([rest, LINE_ENDS])
  const events: SseEvent[] = []
  new SseReader().push(bytes, 0, bytes.length, events)
  return events.every(({ data }) => data === '[DONE]' || isJson(data)) ? bytes : NOTHING
}

const LINE_END = /\r\n?|\n/g

/** An event of another framing may have any line end in it; in a name it would begin a line that was not guarded. */
export function frame({ name: eventName, data }: WireEvent): string {
  const lines = data.includes('\n') || data.includes('\r') ? data.replace(LINE_END, '\ndata: ') : data
  const name = eventName.replace(LINE_END, ' ')
  return name === '' ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`
}
