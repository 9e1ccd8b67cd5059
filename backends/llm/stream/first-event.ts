/**
 * The beginning of an answer, ahead of its head: a provider that is overloaded may say so in the first event of a
 * stream (Anthropic's `overloaded_error`, for one) or instead of an answer, behind a status of 200, and another one may
 * still be asked.
 */

import { isFailure, maskedError } from '#backends/llm/answer/masked-errors.ts'
import type { ChatError, FormatName, Json } from '#backends/llm/conversation.ts'
import type { StreamReader, WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek } from '#engine/contract/filter.ts'
import { parseJson } from '#engine/kit/json.ts'
import { type Framing, framingOf } from './framing.ts'

/** Null: the answer is none that can be read. `refused`: called when it is an error, or its first event is one. */
export function firstEvent(ex: Exchange, format: FormatName, refused: (error: ChatError) => void): Peek | null {
  const { response, status } = ex
  if (response === null || status >= 300) return null
  if ((response.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return null
  const framing = framingOf(response.get('content-type') ?? '')
  if (framing === null) return new WholeError(format, refused)
  return new FirstEvent(framing, FORMATS[format].streamReader(), refused)
}

/** An error stands within the first bytes of its body; members with null are no errors. */
const LOOK_BYTES = 1024
const END = /[}\]]\s{0,16}$/
const ERROR = /"error"\s*:\s*["{]|"detail"\s*:\s*["[{]|"(?:message|__type)"\s*:\s*"/

/** An answer that is whole: most are taken with their first bytes. */
class WholeError implements Peek {
  readonly #format: FormatName
  readonly #refused: (error: ChatError) => void
  #text = ''

  constructor(format: FormatName, refused: (error: ChatError) => void) {
    this.#format = format
    this.#refused = refused
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    // Latin-1: neither what is looked for nor the shape of the JSON needs more.
    this.#text += chunk.latin1Slice(start, end)
    const mayBeWhole = END.test(this.#text)
    if (!ERROR.test(this.#text)) return mayBeWhole || this.#text.length >= LOOK_BYTES ? 'take' : 'more'
    if (!mayBeWhole) return 'more'
    const value = parseJson(this.#text) as Json | undefined
    // Not all of it is here.
    if (value === undefined) return 'more'
    const error = maskedError(this.#format, value)
    if (error === null || !isFailure(error.status)) return 'take'
    this.#refused(error)
    return 'again'
  }
}

class FirstEvent implements Peek {
  readonly #framing: Framing
  readonly #reader: StreamReader
  readonly #refused: (error: ChatError) => void

  constructor(framing: Framing, reader: StreamReader, refused: (error: ChatError) => void) {
    this.#framing = framing
    this.#reader = reader
    this.#refused = refused
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    try {
      const events: WireEvent[] = []
      this.#framing.push(chunk, start, end, events)
      for (const event of events) {
        for (const read of this.#reader.read(event)) {
          // A client's own mistake is not served better elsewhere, and its provider is well.
          if (read.kind !== 'error' || !isFailure(read.error.status)) return 'take'
          this.#refused(read.error)
          return 'again'
        }
      }
      return 'more'
    } catch {
      // The reader of the whole stream reports what cannot be read.
      return 'take'
    }
  }
}
