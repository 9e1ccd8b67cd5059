/**
 * The beginning of an answer, ahead of its head: a provider that is overloaded may say so in the first event of a
 * stream (Anthropic's `overloaded_error`, for one) or instead of an answer, behind a status of 200, and another one may
 * still be asked. So it is with a filter of the provider that has stopped an answer before there was any.
 */

import { isFailure, maskedError } from '#backends/llm/answer/masked-errors.ts'
import type {
  ChatError,
  ChatEvent,
  FormatName,
  Json,
  JsonObject,
  StopReason,
  Usage
} from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek } from '#engine/contract/filter.ts'
import { parseJson } from '#engine/kit/json.ts'
import { JsonEnd } from '#engine/kit/json-end.ts'
import { type Framing, framingOf } from './framing.ts'

/** What a provider has worked out, or been sent, for an answer that its filter has stopped. */
export interface Filtered {
  readonly usage: Usage | null
  readonly model: string | null
  readonly serviceTier: string | null
}

export interface Beginnings {
  /** The answer is an error, or its first event is one. */
  readonly refused: (error: ChatError) => void
  /** A filter has stopped it before the client got anything. Null: that is the answer. */
  readonly filtered: ((what: Filtered) => void) | null
}

type FilteredBeginnings = Beginnings & { readonly filtered: (what: Filtered) => void }

/** Null: the answer is none that can be read. */
export function firstEvent(ex: Exchange, format: FormatName, beginnings: Beginnings): Peek | null {
  const { response, status } = ex
  if (response === null || status >= 300) return null
  if ((response.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return null
  const framing = framingOf(response.get('content-type') ?? '')
  const { refused, filtered } = beginnings
  if (framing !== null) return new FirstEvent(framing, FORMATS[format].streamReader(), beginnings)
  return filtered === null ? new WholeError(format, refused) : new WholeAnswer(format, { refused, filtered })
}

/** Of stops: nothing was answered, or not all of it, and another provider may. */
const isFilter = (stop: StopReason): boolean => stop === 'filter' || stop === 'refusal'

/** An error stands within the first bytes of its body; members with null are no errors. */
const LOOK_BYTES = 1024
const ERROR = /"error"\s*:\s*["{]|"detail"\s*:\s*["[{]|"(?:message|__type)"\s*:\s*"|"status_code"\s*:\s*[1-9]/

/** An answer that is whole: most are taken with their first bytes. */
class WholeError implements Peek {
  readonly #format: FormatName
  readonly #refused: (error: ChatError) => void
  readonly #end = new JsonEnd()
  #text = ''
  #mayRefuse = false

  constructor(format: FormatName, refused: (error: ChatError) => void) {
    this.#format = format
    this.#refused = refused
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    // Latin-1: neither what is looked for nor the shape of the JSON needs more.
    this.#text += chunk.latin1Slice(start, end)
    const isWhole = this.#end.push(chunk, start, end)
    // Of a longer one the beginning has been looked at.
    this.#mayRefuse ||= this.#text.length - (end - start) < LOOK_BYTES && ERROR.test(this.#text)
    if (!this.#mayRefuse) return isWhole || this.#text.length >= LOOK_BYTES ? 'take' : 'more'
    if (!isWhole) return 'more'
    const value = parseJson(this.#text) as Json | undefined
    if (value === undefined) return 'take'
    return refusesIn(this.#format, value, this.#refused) ? 'again' : 'take'
  }
}

/** An answer that is whole, and read to its end: what stopped it stands there. */
class WholeAnswer implements Peek {
  readonly #format: FormatName
  readonly #beginnings: FilteredBeginnings
  readonly #end = new JsonEnd()
  #text = ''

  constructor(format: FormatName, beginnings: FilteredBeginnings) {
    this.#format = format
    this.#beginnings = beginnings
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    this.#text += chunk.latin1Slice(start, end)
    if (!this.#end.push(chunk, start, end)) return 'more'
    const value = parseJson(this.#text) as Json | undefined
    if (value === undefined) return 'take'
    if (refusesIn(this.#format, value, this.#beginnings.refused)) return 'again'
    const summary = isObject(value) ? this.#summaryOf(value) : null
    if (summary === null || summary.stops.length === 0 || !summary.stops.every(isFilter)) return 'take'
    this.#beginnings.filtered(summary)
    return 'again'
  }

  /** Null: it cannot be read, and its client is told so. */
  #summaryOf(value: JsonObject) {
    try {
      return FORMATS[this.#format].readSummary(value)
    } catch (error) {
      if (error instanceof FormatError || error instanceof RangeError) return null
      throw error
    }
  }
}

/** Whether `value` is an error that another provider may not have. */
function refusesIn(format: FormatName, value: Json, refused: (error: ChatError) => void): boolean {
  const error = maskedError(format, value)
  if (error === null || !isFailure(error.status)) return false
  refused(error)
  return true
}

class FirstEvent implements Peek {
  readonly #framing: Framing
  readonly #reader: StreamReader
  readonly #beginnings: Beginnings
  #usage: Usage | null = null
  #model: string | null = null
  #serviceTier: string | null = null
  #isFiltered = false

  constructor(framing: Framing, reader: StreamReader, beginnings: Beginnings) {
    this.#framing = framing
    this.#reader = reader
    this.#beginnings = beginnings
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    try {
      const events: WireEvent[] = []
      this.#framing.push(chunk, start, end, events)
      for (const event of events) {
        for (const read of this.#reader.read(event)) {
          const verdict = this.#read(read)
          if (verdict !== 'more') return verdict
        }
      }
      return 'more'
    } catch {
      // The reader of the whole stream reports what cannot be read.
      return 'take'
    }
  }

  #read(event: ChatEvent): 'more' | 'take' | 'again' {
    const { refused, filtered } = this.#beginnings
    if (event.kind === 'error') {
      // A client's own mistake is not served better elsewhere, and its provider is well.
      if (!isFailure(event.error.status)) return 'take'
      refused(event.error)
      return 'again'
    }
    if (filtered === null) return 'take'
    if (event.kind === 'start') {
      this.#usage = event.usage
      this.#model = event.model
    } else if (event.kind === 'usage') {
      this.#usage = event.usage
      this.#serviceTier = event.serviceTier
    } else if (event.kind === 'stop') {
      if (!isFilter(event.stop)) return 'take'
      this.#isFiltered = true
    } else if (event.kind === 'begin' ? event.part.kind !== 'text' : event.kind !== 'end' && event.kind !== 'done') {
      return 'take'
    }
    // What it has cost comes behind the reason to stop.
    if (!this.#isFiltered) return event.kind === 'done' ? 'take' : 'more'
    if (event.kind !== 'usage' && event.kind !== 'done') return 'more'
    filtered({ usage: this.#usage, model: this.#model, serviceTier: this.#serviceTier })
    return 'again'
  }
}
