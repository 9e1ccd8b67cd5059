/**
 * Records when a streamed answer begins and goes on, and its content if that will be read. It stands around the tap
 * that translates, and changes nothing.
 */

import type { FormatName } from '#backends/llm/conversation.ts'
import type { StreamReader, WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Capture } from '#backends/llm/request/chat-request.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import type { Framing } from '#backends/llm/stream/framing.ts'
import { OuterTap } from '#backends/llm/stream/outer-tap.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

/** A piece of an answer in any of the formats: a field that holds text, and some, or a call. */
const CONTENT =
  /"(?:content|reasoning_content|reasoning|text|thinking|partial_json|arguments|delta|refusal)"\s*:\s*"[^"]|"functionCall"|"tool_use"|"function_call"/

export class CaptureTap extends OuterTap {
  readonly #capture: Capture
  /** Null: the content is not read. */
  #reader: StreamReader | null
  readonly #framing: Framing

  constructor(inner: CostTap, capture: Capture, format: FormatName, framing: Framing) {
    super(inner)
    this.#framing = framing
    this.#capture = capture
    this.#reader = capture.capturesStream ? FORMATS[format].streamReader() : null
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#reader !== null) this.#read(this.#reader, chunk, start, end)
    if (this.#capture.hasBegun || CONTENT.test(chunk.latin1Slice(start, end))) this.#capture.tokenAt(turnStartedAt)
    return this.inner.body(ex, chunk, start, end)
  }

  #read(reader: StreamReader, chunk: Buffer, start: number, end: number): void {
    const events: WireEvent[] = []
    try {
      this.#framing.push(chunk, start, end, events)
      for (const event of events) for (const chatEvent of reader.read(event)) this.#capture.captureEvent(chatEvent)
    } catch {
      // What cannot be read is the other tap's to tell; what was noted until here stays.
      this.#reader = null
    }
  }
}
