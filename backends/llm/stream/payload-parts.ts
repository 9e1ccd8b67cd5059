/**
 * What containers of Amazon SageMaker stream (InvokeEndpointWithResponseStream): the pieces that AWS has made of it,
 * each the payload of a message "PayloadPart", joined. A piece ends anywhere, also within a character. TGI, vLLM and
 * SGLang send server-sent events, LMI lines of JSON ("Chat Completions API Schema").
 */
import type { ErrorType, Json } from '#backends/llm/conversation.ts'
import { writeError } from '#backends/llm/formats/completions/error.ts'
import { readStreamError } from '#backends/llm/formats/converse/error.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { WireEvent } from '#backends/llm/formats/format.ts'
import { SseReader } from '#engine/http/sse.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { EventMessage } from './aws-event-stream.ts'

const LF = 10
const CR = 13
const BRACE = 123
const BLANKS: readonly number[] = [LF, CR, 9, 32]
const DATA = Buffer.from('data: ')
const LINE_END = Buffer.from('\n')

export class PayloadParts {
  readonly #reader = new SseReader()
  /** Null: nothing has come that tells. */
  #hasLines: boolean | null = null
  /** Of lines of JSON. */
  #isLineStart = true

  /** Adds the events that bytes [start, end) of `chunk` complete. Throws SseTooLong. */
  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void {
    let from = start
    if (this.#hasLines === null) {
      while (from < end && BLANKS.includes(chunk[from]!)) from++
      if (from === end) return
      this.#hasLines = chunk[from] === BRACE
    }
    if (this.#hasLines) this.#lines(chunk, from, end, events)
    else this.#reader.push(chunk, from, end, events)
  }

  /** Each line is read as the data of an event. */
  #lines(chunk: Buffer, start: number, end: number, events: WireEvent[]): void {
    for (let at = start; at < end; ) {
      if (this.#isLineStart && (chunk[at] === LF || chunk[at] === CR)) {
        at++
        continue
      }
      if (this.#isLineStart) this.#reader.push(DATA, 0, DATA.length, events)
      const found = chunk.indexOf(LF, at)
      this.#isLineStart = found >= 0 && found < end
      const next = this.#isLineStart ? found + 1 : end
      this.#reader.push(chunk, at, next, events)
      if (this.#isLineStart) this.#reader.push(LINE_END, 0, LINE_END.length, events)
      at = next
    }
  }
}

/** Whose names end in "Error" and "Failure"; those of Bedrock in "Exception" (ResponseStream of both references). */
export const isContainerFault = ({ kind, name }: EventMessage): boolean =>
  kind === 'exception' && /(?:Error|Failure)$/.test(name)

/** ErrorCode of ModelStreamError; the other, StreamBroken, is a connection that was cut. */
const TYPES: ReadonlyMap<string, ErrorType> = new Map([['ModelInvocationTimeExceeded', 'timeout']])

/** An error among events of chat completions, as their clients and readers know one. */
export function faultEvent({ name, data }: EventMessage): WireEvent {
  const known = readStreamError(name, data)
  const value = parseJson(data) as Json | undefined
  const own = isObject(value) && typeof value.ErrorCode === 'string' ? value.ErrorCode : null
  const type = own === null ? undefined : TYPES.get(own)
  const error = { ...known, type: type ?? known.type, code: own ?? known.code }
  return { name: '', data: JSON.stringify(writeError(error)) }
}
