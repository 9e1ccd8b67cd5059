/** Streams of events from a provider to a client: read for what they cost, and translated where they must be. */
import type { ResponseTap } from '#engine/contract/backend.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseTooLong } from '#engine/http/sse.ts'
import type { ChatError, ChatEvent, Usage } from './conversation.ts'
import { type ChatFormat, reasonOf, type StreamReader, type StreamWriter, type WireEvent } from './format.ts'
import type { Framing } from './framing.ts'

export interface StreamParties {
  /** What the provider speaks. */
  readonly from: ChatFormat
  readonly framing: Framing
  readonly writer: StreamWriter
  /** Same format on both sides: events pass as they are. */
  readonly isNative: boolean
  /** Native completions whose client has not asked for the usage chunk that Weir has asked for. */
  readonly hidesUsage: boolean
}

/** What an answer has cost, as far as the provider has said it. */
export class Cost {
  usage: Usage | null = null
  model: string | null = null
  /** The answer has ended, or has been ended: what comes now says nothing. */
  isOver = false

  note(event: ChatEvent): void {
    if (event.kind === 'usage') this.usage = event.usage
    else if (event.kind === 'start') {
      this.usage = event.usage
      this.model = event.model
    } else if (event.kind === 'done' || event.kind === 'error') this.isOver = true
  }
}

export interface CostTap extends ResponseTap {
  readonly cost: Cost
}

export class ChatTap implements CostTap {
  readonly cost = new Cost()
  readonly #parties: StreamParties
  readonly #reader: StreamReader

  constructor(parties: StreamParties) {
    this.#parties = parties
    this.#reader = parties.from.streamReader()
  }

  body(_ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const { isNative, hidesUsage, framing } = this.#parties
    const passes = isNative && !hidesUsage
    if (this.cost.isOver && !passes) return null
    const events: WireEvent[] = []
    try {
      framing.push(chunk, start, end, events)
      let text = ''
      for (const event of events) text += this.#translate(event)
      // Bytes that pass as they are are copied: the read buffer is only lent.
      if (passes) return Buffer.from(chunk.subarray(start, end))
      return text === '' ? null : Buffer.from(text)
    } catch (error) {
      return this.cost.isOver ? null : this.#break(malformed(error))
    }
  }

  end(): Buffer | null {
    if (this.cost.isOver) return null
    return this.#break({ ...BROKEN, message: 'the provider ended its answer before it was complete' })
  }

  fault(_ex: Exchange, code: ErrorCode): Buffer | null {
    if (this.cost.isOver) return null
    return this.#break({ ...BROKEN, message: ERRORS[code].message })
  }

  #translate(event: WireEvent): string {
    if (this.cost.isOver) return ''
    const { isNative, hidesUsage, writer } = this.#parties
    const said = this.#reader.read(event)
    let text = ''
    for (const one of said) {
      this.cost.note(one)
      if (!isNative) text += writer.write(one)
    }
    if (!isNative) return text
    if (!hidesUsage) return ''
    return said.length > 0 && said.every(({ kind }) => kind === 'usage') ? '' : frame(event)
  }

  /** Ends the client's stream with an error in its own words. */
  #break(error: ChatError): Buffer | null {
    this.cost.isOver = true
    const text = this.#parties.writer.write({ kind: 'error', error })
    return text === '' ? null : Buffer.from(text)
  }
}

export const BROKEN: ChatError = { status: 502, type: 'internal', message: '', code: null, param: null }

function malformed(error: unknown): ChatError {
  const why = error instanceof SseTooLong ? error.message : reasonOf(error)
  return { ...BROKEN, message: `the provider's answer cannot be read: ${why}` }
}

function frame({ name, data }: WireEvent): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return name === '' ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`
}
