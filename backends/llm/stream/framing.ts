/** How a streamed answer is cut into events on the wire, by its content type. */

import type { WireEvent } from '#backends/llm/formats/format.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseReader } from '#engine/http/sse.ts'
import { EventStreamDecoder } from './aws-event-stream.ts'

export interface Framing {
  /** Adds the events that bytes [start, end) of `chunk` complete. Throws SseTooLong or FormatError. */
  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void
}

class EventStream implements Framing {
  readonly #decoder = new EventStreamDecoder()

  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void {
    for (const message of this.#decoder.push(chunk.subarray(start, end))) events.push(message)
  }
}

const SSE = /^text\/event-stream\b/i
const EVENT_STREAM = /^application\/vnd\.amazon\.eventstream\b/i

/** Null: an answer of this content type is no stream of events. */
export function framingOf(contentType: string): Framing | null {
  if (SSE.test(contentType)) return new SseReader()
  return EVENT_STREAM.test(contentType) ? new EventStream() : null
}

/** What guards let go are server-sent events, whatever came. */
export const sseFraming = (): Framing => new SseReader()

/** As the answer says that it is framed. */
export function framingFor(ex: Exchange): () => Framing {
  const type = ex.response!.get('content-type') ?? ''
  return () => framingOf(type) ?? sseFraming()
}
