/**
 * Ids in streamed answers: events that pass are looked through for the few that name what the provider keeps, and only
 * those are written anew. Of a stream of Responses that is its beginning and its end.
 */
import type { Json } from '#backends/llm/conversation.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { EventBytes } from '#backends/llm/stream/event-bytes.ts'
import { OuterTap } from '#backends/llm/stream/outer-tap.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_STREAM, type Exchange, type ResponseTap } from '#engine/contract/exchange.ts'
import type { StoredAnswerSpec } from './answer.ts'
import { sealBody } from './references.ts'
import type { Seal } from './seal.ts'

/** Of events without any of these nothing is parsed: pieces of text, which are most of a stream. */
const NEEDLES = ['"response":', '_id":', '"container":', '"object":"response'].map((text) => Buffer.from(text))
/** Ids of items within an answer, which are in every event of a stream, are none of this. */
const LINE = /^data:(.*)$/gm
const WORTH_PARSING = /"response":|"container|"file_id|"vector_store_id|"object":"response/

/** `bytes`: whole events. The same bytes where there is nothing to seal. */
export function sealEvents(bytes: Buffer, seal: Seal): Buffer {
  if (!NEEDLES.some((needle) => bytes.includes(needle))) return bytes
  const text = bytes.toString()
  const made = text.replaceAll(LINE, (line: string, data: string) =>
    WORTH_PARSING.test(data) ? sealLine(line, data, seal) : line
  )
  return made === text ? bytes : Buffer.from(made)
}

/** What is no JSON is as it was: the client may judge it. */
function sealLine(line: string, data: string, seal: Seal): string {
  const isCr = data.endsWith('\r')
  let event: Json
  try {
    event = JSON.parse(data) as Json
  } catch {
    return line
  }
  const made = sealBody(event, seal, null)
  return made === event ? line : `data: ${JSON.stringify(made)}${isCr ? '\r' : ''}`
}

/** Around the tap of a chat, which passes whole events. */
export class ChatSealTap extends OuterTap {
  readonly #seal: Seal

  constructor(inner: CostTap, seal: Seal) {
    super(inner)
    this.#seal = seal
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const passed = this.inner.body(ex, chunk, start, end)
    if (passed === null) return null
    if (passed !== chunk) return sealEvents(passed, this.#seal)
    const events = chunk.subarray(start, end)
    const made = sealEvents(events, this.#seal)
    return made === events ? chunk : made
  }

  override end(ex: Exchange): Buffer | null {
    return this.#last(this.inner.end(ex))
  }

  override fault(ex: Exchange, code: ErrorCode): Buffer | null {
    return this.#last(this.inner.fault(ex, code))
  }

  #last(events: Buffer | null): Buffer | null {
    return events === null ? null : sealEvents(events, this.#seal)
  }
}

/** Of an answer that was kept and is read again. */
class StoredSealTap implements ResponseTap {
  readonly #seal: Seal
  readonly #events = new EventBytes()

  constructor(seal: Seal) {
    this.#seal = seal
  }

  body(_ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const whole = this.#events.take(chunk, start, end)
    if (whole === null) return null
    return sealEvents(whole === chunk ? chunk.subarray(start, end) : whole, this.#seal)
  }

  end(): Buffer | null {
    const rest = this.#events.rest()
    return rest === null ? null : sealEvents(rest, this.#seal)
  }

  fault(): Buffer | null {
    return this.end()
  }
}

/** The answer of `ex` is a stream of what was kept. */
export function streamStored(ex: Exchange, { seal }: StoredAnswerSpec): void {
  if (seal === null) return
  ex.tap = new StoredSealTap(seal)
  ex.response!.remove('content-length')
  ex.responseBody = BODY_STREAM
  ex.responseLength = 0
}
