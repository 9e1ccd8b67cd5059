/** How a streamed answer is cut into events on the wire, by its content type. */

import { parsedObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseReader } from '#engine/http/sse.ts'
import { type EventMessage, EventStreamDecoder } from './aws-event-stream.ts'
import { faultEvent, isContainerFault, PayloadParts } from './payload-parts.ts'

export interface Framing {
  /** Adds the events that bytes [start, end) of `chunk` complete. Throws SseTooLong or FormatError. */
  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void
}

/** Pushed at the end of a stream: its last event may lack its empty line. */
export const LINE_ENDS = Buffer.from('\n\n')

class EventStream implements Framing {
  readonly #decoder = new EventStreamDecoder()
  /** Of SageMaker, whose messages are pieces of another stream; null: none has come. */
  #parts: PayloadParts | null = null

  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void {
    // Messages need no line end; the stream within them may.
    if (chunk === LINE_ENDS) this.#parts?.push(chunk, start, end, events)
    else for (const message of this.#decoder.push(chunk.subarray(start, end))) this.#read(message, events)
  }

  #read(message: EventMessage, events: WireEvent[]): void {
    const { payload, kind } = message
    if (payload !== undefined) {
      this.#parts ??= new PayloadParts()
      this.#parts.push(payload, 0, payload.length, events)
    } else if (isContainerFault(message) || (this.#parts !== null && kind !== 'event')) {
      events.push(faultEvent(message))
    } else if (this.#parts === null) events.push(unwrapped(message))
  }
}

/**
 * InvokeModelWithResponseStream has an event of the model's own format, in base64, in each of its own, which are called
 * "chunk" (API reference of Amazon Bedrock Runtime, PayloadPart). Throws FormatError.
 */
function unwrapped(message: EventMessage): WireEvent {
  if (message.kind !== 'event' || message.name !== 'chunk') return message
  const { bytes } = parsedObject(message.data)
  if (typeof bytes !== 'string') throw new FormatError('bytes', 'is required in a chunk, and must be a string')
  const data = Buffer.from(bytes, 'base64').toString()
  const { type } = parsedObject(data)
  const name = typeof type === 'string' ? type : ''
  // It would be one of the server-sent event, too.
  if (/[\r\n]/.test(name)) throw new FormatError('type', 'has a line end in it')
  return { name, data }
}

/** What AWS says instead of an event. */
export const isException = ({ name }: WireEvent): boolean => name.endsWith('Exception')

const SSE = /^text\/event-stream\b/i
const EVENT_STREAM = /^application\/vnd\.amazon\.eventstream\b/i

export const isSse = (contentType: string): boolean => SSE.test(contentType)

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
