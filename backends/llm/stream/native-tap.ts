/**
 * Streams that pass as they are, client and provider speaking the same format: the bytes go on where they lie, and
 * only the few events that tell the model, the usage or the end are read. To read every event of a stream costs three
 * times what nginx takes to pass it on (docs/design/015-llm-formats.md).
 */

import type { FormatName, Json } from '#backends/llm/conversation.ts'
import { isJson, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type Mending, type StreamReader, type StreamWriter } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { EventReading } from '#backends/llm/offload/job.ts'
import { readEventInPool } from '#backends/llm/offload/pool.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import type { Offload } from '#engine/contract/policy.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { parseJson } from '#engine/kit/json.ts'
import { BROKEN, type CostTap, EndingTap, NOTHING } from './cost-tap.ts'
import { EventBytes } from './event-bytes.ts'
import { LINE_ENDS } from './framing.ts'
import { frame, wholeEvents } from './translating-tap.ts'

export interface NativeTapOptions {
  readonly format: FormatName
  readonly reader: StreamReader
  /** Made when the gateway has to say something itself. */
  readonly writer: () => StreamWriter
  /** The client has not asked for the usage chunk (completions) that Weir has asked for. */
  readonly hidesUsage: boolean
  /** Where long events are read; null: here. */
  readonly offload: Offload | null
}

/** Null for a format whose events all have to be read. */
export function nativeTap(parties: NativeTapOptions): CostTap | null {
  const { marks } = FORMATS[parties.format]
  return marks === undefined ? null : new NativeTap(parties, marks)
}

class NativeTap extends EndingTap implements CostTap {
  readonly #parties: NativeTapOptions
  readonly #marks: RegExp
  /** Null: nothing is mended. */
  readonly #mending: Mending | null
  #mend: ((data: string) => string | null) | null = null
  readonly #bytes = new EventBytes()
  /** The first event tells the model. */
  #isFirst = true
  /** It has had an unknown event: perhaps its end. */
  #isUnread = false
  /** Long events that another thread reads. */
  #pending = 0
  #next: (() => void) | null = null

  constructor(parties: NativeTapOptions, marks: RegExp) {
    super()
    this.#parties = parties
    this.#marks = marks
    this.#mending = FORMATS[parties.format].mending ?? null
  }

  get isAtBoundary(): boolean {
    return this.#bytes.isBetween
  }

  get isBusy(): boolean {
    return this.#pending > 0
  }

  whenDone(step: () => void): void {
    this.#next = step
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const whole = this.#bytes.take(chunk, start, end)
    if (whole === null || !this.#bytes.isBetween) return whole
    const isChunk = whole === chunk
    // Most events are only looked at as text: a view of the bytes would cost as much again.
    const text = isChunk ? chunk.latin1Slice(start, end) : whole.latin1Slice()
    if (!this.#isFirst && !this.#marks.test(text) && this.#mending?.marks.test(text) !== true) {
      this.cost.pieceCount += eventCount(text)
      return whole
    }
    const events = isChunk ? chunk.subarray(start, end) : whole
    const left = this.#look(ex, events, text)
    if (left === events) return whole
    return left.length === 0 ? null : left
  }

  /** The last event may lack its empty line; half an event is dropped. */
  end(ex: Exchange): Buffer | null {
    const rest = this.#bytes.rest()
    const last = rest === null ? null : Buffer.concat([rest, LINE_ENDS])
    const left = last === null ? null : this.#look(ex, last, last.latin1Slice())
    if (this.isBusy) return left
    const finish = this.cost.isOver || !this.isAtBoundary ? null : (this.#parties.reader.finish?.() ?? null)
    if (finish !== null) {
      for (const one of finish.events) this.cost.note(one)
      const isWhole = rest !== null && wholeEvents(rest) !== NOTHING
      return Buffer.concat([isWhole && left !== null ? left : NOTHING, Buffer.from(finish.mark)])
    }
    if (this.cost.isOver || this.#isUnread || !this.isAtBoundary)
      return left === null || left.length === 0 ? null : left
    return this.breakOff({ ...BROKEN, message: 'the provider ended its answer before it was complete' })
  }

  protected errorWriter(): StreamWriter {
    return this.#parties.writer()
  }

  /**
   * Reads what matters of whole events, `text` in latin1. Returns them (a copy, when they are not the same) without
   * those that the client has not asked for, and with errors as it knows them.
   */
  #look(ex: Exchange, events: Buffer, text: string): Buffer {
    const kept: Buffer[] = []
    let keptTo = 0
    let isSame = true
    const hasCr = text.includes('\r')
    for (let at = 0; at < text.length; ) {
      const end = boundaryIn(text, at, hasCr)
      const one = text.substring(at, end)
      const matters = this.#isFirst || this.#marks.test(one)
      if (!matters) this.cost.pieceCount++
      const bytes = events.subarray(at, end)
      const instead = (matters ? this.#read(ex, bytes) : null) ?? this.#mended(bytes, one, matters)
      if (instead !== null) {
        if (keptTo < at) kept.push(events.subarray(keptTo, at))
        kept.push(instead)
        keptTo = end
        isSame = false
      }
      at = end
    }
    if (isSame) return events
    kept.push(events.subarray(keptTo))
    return Buffer.concat(kept)
  }

  /** An event with what its server has left out; null: nothing, or it is too long to be read here. */
  #mended(bytes: Buffer, text: string, isRead: boolean): Buffer | null {
    if (this.#mending === null || bytes.length > LARGE_BYTES) return null
    if (!this.#mending.marks.test(text) && !(isRead && this.#mending.marksOfRead.test(text))) return null
    const events: SseEvent[] = []
    new SseReader().push(bytes, 0, bytes.length, events)
    const [event, more] = events
    if (event === undefined || more !== undefined) return null
    this.#mend ??= this.#mending.begin()
    const data = this.#mend(event.data)
    return data === null ? null : Buffer.from(frame({ name: event.name, data }))
  }

  /** Of an event that matters: what the client gets in its place. Null: it passes as it is. */
  #read(ex: Exchange, bytes: Buffer): Buffer | null {
    const { format, offload } = this.#parties
    if (bytes.length <= LARGE_BYTES || offload === null) return this.#readHere(bytes)
    this.#isFirst = false
    this.#pending++
    const read = readEventInPool(offload, format, bytes)
    whenSettled(
      read,
      () => true,
      (heard) => {
        const isOwed = this.cost.usage === null
        // It is owed whatever becomes of the answer.
        if (heard === null) this.#readHere(bytes)
        else this.#take(heard)
        this.#pending--
        if (ex.step === STEP_RECORDED && isOwed) settleUsage(ex, this.cost)
        else if (!this.isBusy && ex.step !== STEP_RECORDED) this.#goOn(ex)
      }
    )
    return null
  }

  #take({ events, isUnread }: EventReading): void {
    this.#isUnread ||= isUnread
    // A reader of one event alone begins anew with it.
    for (const one of events) if (one.kind !== 'start' || this.cost.model === null) this.cost.note(one)
  }

  #goOn(ex: Exchange): void {
    const next = this.#next
    this.#next = null
    if (next !== null) next()
    else ex.server?.resumeBody()
  }

  /** As #read. */
  #readHere(bytes: Buffer): Buffer | null {
    const events: SseEvent[] = []
    new SseReader().push(bytes, 0, bytes.length, events)
    if (events.length === 0) return null
    this.#isFirst = false
    const { reader, hidesUsage } = this.#parties
    try {
      const chatEvents = events.flatMap((event) => reader.read(event))
      for (const one of chatEvents) this.cost.note(one)
      if (hidesUsage && chatEvents.length > 0 && chatEvents.every(({ kind }) => kind === 'usage')) return NOTHING
      const error = chatEvents.find(({ kind }) => kind === 'error')
      if (error === undefined || events.some(({ data }) => hasError(data))) return null
      return Buffer.from(this.errorWriter().write(error))
    } catch (error) {
      // The client may understand what is not understood here: it is its own format.
      if (error instanceof FormatError) {
        if (events.some(({ data }) => isJson(data))) this.#isUnread = true
        return null
      }
      throw error
    }
  }
}

/** Clients look for an error there, and nowhere else. */
function hasError(data: string): boolean {
  const value = parseJson(data) as Json | undefined
  return isObject(value) && (value.error ?? null) !== null
}

/** Of whole events that end with LF; a server that ends them otherwise has one counted for each piece of its stream. */
function eventCount(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n', at + 2)) count++
  return Math.max(count, 1)
}

/** Where the event that begins at `at` ends: behind the next empty line, or where all ends. */
function boundaryIn(text: string, at: number, hasCr: boolean): number {
  if (hasCr) {
    EMPTY_LINE.lastIndex = at
    return EMPTY_LINE.test(text) ? EMPTY_LINE.lastIndex : text.length
  }
  const lf = text.indexOf('\n\n', at)
  return lf < 0 ? text.length : lf + 2
}

/** Lines end with LF, CR, or both ("Parsing an event stream" of HTML), and not all in one way. */
const EMPTY_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g
