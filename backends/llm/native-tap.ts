/**
 * Streams that pass as they are, client and provider speaking the same format: the bytes go on where they lie, and
 * only the few events that tell the model, the usage or the end are read. To read every event of a stream costs three
 * times what nginx takes to pass it on (docs/design/015-one-conversation.md).
 */
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SSE_EVENT_BYTES_MAX, type SseEvent, SseReader } from '#engine/http/sse.ts'
import type { ChatError, FormatName } from './conversation.ts'
import { FormatError, type StreamReader, type StreamWriter } from './format.ts'
import { BROKEN, Cost, type CostTap } from './stream.ts'

/**
 * What an event that matters has in it. Inside of a JSON string the quotes would be escaped, so none is missed, and
 * words of a model are rarely taken for one. Gemini tells its usage with every event: it has no such mark.
 */
const MARKS: Readonly<Partial<Record<FormatName, RegExp>>> = {
  completions: /"usage"\s*:\s*\{|"error"|\[DONE\]/,
  messages: /"message_(?:start|delta|stop)"|"error"/,
  responses: /"response\.(?:completed|incomplete|failed)"|"error"\s*:\s*\{|"type"\s*:\s*"error"/
}

export interface NativeParties {
  readonly format: FormatName
  readonly reader: StreamReader
  /** Made when the gateway has to say something itself. */
  readonly writer: () => StreamWriter
  /** The client has not asked for the usage chunk (completions) that Weir has asked for. */
  readonly hidesUsage: boolean
}

/** Null for a format whose events all have to be read. */
export function nativeTap(parties: NativeParties): CostTap | null {
  const marks = MARKS[parties.format]
  return marks === undefined ? null : new NativeTap(parties, marks)
}

const LF = 10
const CR = 13
/** One byte less than the longest empty line with the end of the line before it. */
const SEAM_BYTES = 3
/** Bytes held that long have no end: nothing in them will be found. */
const TAIL_BYTES_MAX = SSE_EVENT_BYTES_MAX

class NativeTap implements CostTap {
  readonly cost = new Cost()
  readonly #parties: NativeParties
  readonly #marks: RegExp
  /** Of an event that has begun. When usage is hidden they wait here, otherwise they have gone on already. */
  #tail: Buffer[] = []
  #tailBytes = 0
  /** The first event tells the model. */
  #isFirst = true

  constructor(parties: NativeParties, marks: RegExp) {
    this.#parties = parties
    this.#marks = marks
  }

  body(_ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.cost.isOver && this.#tailBytes === 0) return chunk
    const { hidesUsage } = this.#parties
    const piece = chunk.subarray(start, end)
    const cut = Math.max(boundaryIn(piece), this.#seamIn(piece))
    if (cut < 0) {
      this.#keep(piece)
      return hidesUsage ? null : chunk
    }
    const events = this.#tailBytes === 0 ? piece.subarray(0, cut) : this.#joined(piece.subarray(0, cut))
    if (cut < piece.length) this.#keep(piece.subarray(cut))
    const left = this.#look(events)
    if (!hidesUsage) return chunk
    // Bytes that go on as they are are copied: the read buffer is only lent.
    return left.length === 0 ? null : Buffer.from(left)
  }

  end(): Buffer | null {
    const rest = this.#tailBytes === 0 ? null : this.#look(this.#joined(Buffer.alloc(0)))
    const held = rest !== null && this.#parties.hidesUsage && rest.length > 0 ? Buffer.from(rest) : null
    if (this.cost.isOver) return held
    const last = this.breakOff({ ...BROKEN, message: 'the provider ended its answer before it was complete' })
    return held === null || last === null ? (held ?? last) : Buffer.concat([held, last])
  }

  fault(_ex: Exchange, code: ErrorCode): Buffer | null {
    return this.breakOff({ ...BROKEN, message: ERRORS[code].message })
  }

  #keep(piece: Buffer): void {
    if (this.#tailBytes + piece.length > TAIL_BYTES_MAX) {
      this.cost.isOver = true
      return
    }
    this.#tail.push(Buffer.from(piece))
    this.#tailBytes += piece.length
  }

  /** Where an empty line ends that began in the tail, or -1. */
  #seamIn(piece: Buffer): number {
    if (this.#tailBytes === 0) return -1
    const before = this.#tail.at(-1)!.subarray(-SEAM_BYTES)
    const end = lastAfter(Buffer.concat([before, piece.subarray(0, SEAM_BYTES)]), '\n\n', '\r\n\r\n')
    return end > before.length ? end - before.length : -1
  }

  #joined(piece: Buffer): Buffer {
    const all = Buffer.concat([...this.#tail, piece])
    this.#tail = []
    this.#tailBytes = 0
    return all
  }

  /** Reads what matters of whole events. Answers them without those that the client has not asked for. */
  #look(events: Buffer): Buffer {
    if (!this.#isFirst && !this.#marks.test(events.latin1Slice())) return events
    const kept: Buffer[] = []
    for (let at = 0; at < events.length; ) {
      const end = at + Math.max(firstBoundaryIn(events, at), 1)
      const event = events.subarray(at, end)
      if (!this.#read(event)) kept.push(event)
      at = end
    }
    return Buffer.concat(kept)
  }

  /** True: it says nothing but the usage, and nobody has asked. */
  #read(bytes: Buffer): boolean {
    const isFirst = this.#isFirst
    if (!isFirst && !this.#marks.test(bytes.latin1Slice())) return false
    const events: SseEvent[] = []
    new SseReader().push(bytes, 0, bytes.length, events)
    if (events.length === 0) return false
    this.#isFirst = false
    const { reader, hidesUsage } = this.#parties
    try {
      const said = events.flatMap((event) => reader.read(event))
      for (const one of said) this.cost.note(one)
      return hidesUsage && said.length > 0 && said.every(({ kind }) => kind === 'usage')
    } catch (error) {
      // The client may understand what is not understood here: it is its own format.
      if (error instanceof FormatError) return false
      throw error
    }
  }

  breakOff(error: ChatError): Buffer | null {
    if (this.cost.isOver) return null
    this.cost.isOver = true
    const text = this.#parties.writer().write({ kind: 'error', error })
    return text === '' ? null : Buffer.from(text)
  }
}

/** Behind the last empty line, or -1. A chunk ends with one, as a rule. */
function boundaryIn(piece: Buffer): number {
  const { length } = piece
  if (length >= 2 && piece[length - 1] === LF && (piece[length - 2] === LF || endsWithCrLf(piece))) return length
  return lastAfter(piece, '\n\n', '\r\n\r\n')
}

function lastAfter(piece: Buffer, ...marks: readonly string[]): number {
  return marks.reduce((end, mark) => {
    const at = piece.lastIndexOf(mark, undefined, 'latin1')
    return at < 0 ? end : Math.max(end, at + mark.length)
  }, -1)
}

function endsWithCrLf(piece: Buffer): boolean {
  const { length } = piece
  return length >= 4 && piece[length - 2] === CR && piece[length - 3] === LF && piece[length - 4] === CR
}

/** Bytes from `at` to behind the next empty line, or to the end. */
function firstBoundaryIn(events: Buffer, at: number): number {
  const lf = events.indexOf('\n\n', at, 'latin1')
  const cr = events.indexOf('\r\n\r\n', at, 'latin1')
  if (lf < 0 && cr < 0) return events.length - at
  return cr < 0 || (lf >= 0 && lf < cr) ? lf + 2 - at : cr + 4 - at
}
