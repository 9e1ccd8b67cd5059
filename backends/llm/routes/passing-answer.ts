/** What an answer costs that passes as it is, whatever it is: JSON, events, or bytes of a picture or of sound. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { JsonOutline } from '#backends/llm/stream/json-outline.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import type { Exchange, ResponseTap } from '#engine/contract/exchange.ts'
import { type SseEvent, SseReader, SseTooLong } from '#engine/http/sse.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { AnswerSpec } from './answer-spec.ts'
import type { OperationCost, SentOperation } from './operation.ts'

/** What is left of an answer, or of an event, without lists and long strings. */
const OUTLINE_BYTES_MAX = 64 * 1024

/** Null: it says nothing of it. `body`: a whole answer or an event, without lists and long strings. */
export type ReadCost = (body: JsonObject, sent: SentOperation) => OperationCost | null

type Shape = 'json' | 'events' | 'bytes'

export class PassingAnswer implements ResponseTap {
  readonly #outline = new JsonOutline()
  readonly #sse = new SseReader(OUTLINE_BYTES_MAX)
  readonly #sent: SentOperation
  readonly #read: ReadCost
  #shape: Shape
  #kept: Buffer[] = []
  #keptBytes = 0

  /** `shape`: absent: as the answer says. */
  constructor(ex: Exchange, sent: SentOperation, read: ReadCost, shape?: Shape) {
    this.#sent = sent
    this.#read = read
    this.#shape = shape ?? shapeOf(ex.response?.get('content-type') ?? '')
    // What the request says of it holds as long as the answer does not say more.
    const units = sent.expects?.units
    if (units !== undefined) settleUsage(ex, { usage: null, model: null, units })
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer {
    if (this.#shape === 'bytes') return chunk
    for (const piece of this.#outline.cut(chunk, start, end)) {
      if (this.#shape === 'events') this.#event(ex, piece)
      else if (this.#shape === 'json') this.#keep(piece)
    }
    return chunk
  }

  end(ex: Exchange): null {
    if (this.#shape === 'json') this.#tell(ex, parseJson(Buffer.concat(this.#kept).toString()) as Json | undefined)
    return null
  }

  fault(): null {
    return null
  }

  #keep(piece: Buffer): void {
    this.#keptBytes += piece.length
    if (this.#keptBytes <= OUTLINE_BYTES_MAX) this.#kept.push(Buffer.from(piece))
    else this.#forget()
  }

  #forget(): void {
    this.#shape = 'bytes'
    this.#kept = []
  }

  #event(ex: Exchange, piece: Buffer): void {
    const events: SseEvent[] = []
    try {
      this.#sse.push(piece, 0, piece.length, events)
    } catch (error) {
      if (!(error instanceof SseTooLong)) throw error
      this.#forget()
    }
    for (const { data } of events) if (data.includes('"usage"')) this.#tell(ex, parseJson(data) as Json | undefined)
  }

  #tell(ex: Exchange, body: Json | undefined): void {
    const cost = isObject(body) ? this.#read(body, this.#sent) : null
    if (cost !== null) settleUsage(ex, cost)
  }
}

/** The tap of answers that are always JSON. `costIn`: of a whole one; throws FormatError. */
export function passingJson<Spec extends AnswerSpec>(costIn: (spec: Spec, body: Json) => OperationCost) {
  const read: ReadCost = (body, { answerSpec }) => {
    try {
      return costIn(answerSpec as Spec, body)
    } catch (error) {
      if (error instanceof FormatError) return null
      throw error
    }
  }
  return (ex: Exchange, sent: SentOperation): ResponseTap => new PassingAnswer(ex, sent, read, 'json')
}

function shapeOf(contentType: string): Shape {
  if (/^text\/event-stream\b/i.test(contentType)) return 'events'
  return /^application\/json\b/i.test(contentType) ? 'json' : 'bytes'
}
