/**
 * The first event of a streamed answer, ahead of its head: a provider that is overloaded may say so there, behind a
 * status of 200 (Anthropic's `overloaded_error`, for one), and another one may still be asked.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek } from '#engine/contract/retry.ts'
import type { FormatName } from './conversation.ts'
import type { StreamReader, WireEvent } from './format.ts'
import { type Framing, framingOf } from './framing.ts'
import { FORMATS } from './matrix.ts'

/** Null: the answer is no stream that can be read. `refused`: called when its first event is an error. */
export function firstEvent(ex: Exchange, format: FormatName, refused: () => void): Peek | null {
  const { response, status } = ex
  if (response === null || status >= 300) return null
  if ((response.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return null
  const framing = framingOf(response.get('content-type') ?? '')
  return framing === null ? null : new FirstEvent(framing, FORMATS[format]!.streamReader(), refused)
}

class FirstEvent implements Peek {
  readonly #framing: Framing
  readonly #reader: StreamReader
  readonly #refused: () => void

  constructor(framing: Framing, reader: StreamReader, refused: () => void) {
    this.#framing = framing
    this.#reader = reader
    this.#refused = refused
  }

  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again' {
    try {
      const events: WireEvent[] = []
      this.#framing.push(chunk, start, end, events)
      for (const event of events) {
        for (const { kind } of this.#reader.read(event)) {
          if (kind !== 'error') return 'take'
          this.#refused()
          return 'again'
        }
      }
      return 'more'
    } catch {
      // What cannot be read is told where the whole stream is.
      return 'take'
    }
  }
}
