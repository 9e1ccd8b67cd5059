/**
 * One response on its way into uWebSockets.js: head, framing, and what waits for the client.
 *
 * What does not fit into the library's cork buffer it may lose: when the kernel takes nothing more just as the buffer
 * is emptied, the bytes that were to follow it are dropped (uNetworking/uWebSockets, commit 6b7f354, newer than any
 * package). So one cork never holds more than the buffer does; only tryEnd may, which says what it took.
 */
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { headText } from './head.ts'
import { CORK_BYTES, type HttpResponse } from './library.ts'

/** For what the library writes besides: Date, Content-Length or Transfer-Encoding, sizes of chunks, the last chunk. */
const FRAMING_BYTES = 256
const ROOM = CORK_BYTES - FRAMING_BYTES
const SLICE_MIN = 1024

export class UwsAnswer {
  /** The client does not read as fast as we write. */
  isCongested = false
  /** Nothing of the request is read: the connection must not stay so when `res` dies. */
  isPaused = false
  /** The connection ends with this response. */
  isClosing = false
  /** The request cannot be believed: the connection must not go on. */
  isRefused = false
  /** All of the response is here. */
  isEnding = false
  /** All has been written but the last byte, which waits for the backend's end. */
  isWithholding = false
  /** All of it has been handed over: `res` is dead. */
  isDone = false
  kind: number = BODY_NONE
  isMute = false
  readonly #res: HttpResponse
  #ex: Exchange | null = null
  #wantsClose = false
  #head: Buffer | null = null
  #endsNow = false
  #headSent = false
  /** Bytes of a sized body that the library has taken. */
  #offset = 0
  /** Copies of bytes that wait: for the end of the round, or for the client. Bounded: the upstream is stopped. */
  readonly #pending = new Pieces()

  constructor(res: HttpResponse) {
    this.#res = res
  }

  /** The head is known. `wantsClose`: the client has asked for the end of the connection. */
  begin(ex: Exchange, wantsClose: boolean): void {
    this.#ex = ex
    this.#wantsClose = wantsClose
    this.isMute = hasNoContent(ex.status, ex.method)
    this.kind = this.isMute ? BODY_NONE : ex.responseBody
  }

  get isHolding(): boolean {
    return !this.#pending.isEmpty
  }

  /** Something could leave that has not: bytes, or the head of a sized body. */
  get isDue(): boolean {
    return (this.isHolding && !this.isWithholding) || (this.kind === BODY_LENGTH && !this.#headSent)
  }

  keep(bytes: Buffer): void {
    this.#pending.push(bytes, 0, bytes.length)
    // What it ends with is not known any more.
    if (!this.#headSent) this.#head = null
  }

  drop(): void {
    this.#pending.drop()
  }

  /** Bytes that write(bytes) may put into the library's cork. */
  demand(bytes: Buffer | null): number {
    return this.#unsentHead(bytes) + this.#pending.bytes + (bytes?.length ?? 0) + FRAMING_BYTES
  }

  /**
   * Hands over what is held and then `bytes`, as much as the client takes, and keeps copies of the remainder. Not in
   * a turn of the library's own, unless demand() fits what is left of its cork.
   */
  write(bytes: Buffer | null): void {
    if (this.kind === BODY_STREAM) this.#writeSlices(bytes)
    else if (this.kind === BODY_LENGTH || this.isEnding) this.#corked(bytes, this.isEnding)
  }

  /** No cork holds more than one slice. */
  #writeSlices(bytes: Buffer | null): void {
    const pieces = this.#take(bytes)
    const last = pieces.at(-1)
    if (last === undefined && this.isEnding) this.#corked(null, true)
    let hasRoom = true
    for (const piece of pieces) {
      let at = 0
      while (hasRoom && at < piece.length) {
        const head = this.#unsentHead(piece)
        const end = at + (isLarge(head) ? ROOM : ROOM - head)
        this.#corked(piece.subarray(at, end), this.isEnding && piece === last && end >= piece.length)
        at = end
        hasRoom = !this.isCongested
      }
      if (at < piece.length) this.keep(piece.subarray(at))
    }
  }

  #take(bytes: Buffer | null): Buffer[] {
    const pieces = this.#pending.list
    this.#pending.drop()
    if (bytes !== null) pieces.push(bytes)
    return pieces
  }

  /**
   * In a cork head and body leave in one system call. Without one each part is a call of its own, and the library
   * prints a warning for each, but what the kernel does not take is kept, however much it is.
   */
  #corked(bytes: Buffer | null, isLast: boolean): void {
    writing = this
    writingBytes = bytes
    writingIsLast = isLast
    if (isLarge(this.#unsentHead(bytes))) writeCorked()
    else this.#res.cork(writeCorked)
  }

  writeOut(bytes: Buffer | null, isLast: boolean): void {
    if (this.kind === BODY_LENGTH) this.#writeSized(bytes)
    else if (this.kind === BODY_STREAM) this.#writeStream(bytes, isLast)
    else this.#endEmpty()
  }

  #endEmpty(): void {
    this.#sendHead(null)
    const res = this.#beforeEnd()
    // The length of what would be there is among the header lines, if the upstream named it.
    if (this.#hasContentLength) res.endWithoutBody()
    else res.endWithoutBody(0, this.isClosing)
    this.isDone = true
  }

  #writeSized(bytes: Buffer | null): void {
    const total = this.#ex!.responseLength
    const isFirst = !this.#headSent
    if (isFirst) this.#sendHead(bytes)
    const pieces = this.#take(bytes)
    if (isFirst && this.#endsNow) {
      this.#beforeEnd().end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces), this.isClosing)
      this.isDone = true
      return
    }
    // The head alone, or with it a byte that is withheld.
    const isAlone = pieces.length === 0 || (total === 1 && this.#mustGoOn)
    if (isFirst && isAlone) this.isCongested = !this.#res.tryEnd('', total)[0]
    this.isWithholding = false
    for (const piece of pieces) this.#writePart(piece, total)
  }

  /** Hands over what the kernel takes and keeps a copy of the rest. */
  #writePart(piece: Buffer, total: number): void {
    if (this.isHolding) {
      this.keep(piece)
      return
    }
    let bytes = piece
    if (this.#mustGoOn && this.#offset + piece.length === total) {
      this.isWithholding = true
      this.keep(piece.subarray(-1))
      bytes = piece.subarray(0, -1)
      if (bytes.length === 0) {
        this.isCongested = false
        return
      }
    }
    if (this.#offset + bytes.length === total) this.#beforeEnd()
    const [isWhole, isDone] = this.#res.tryEnd(bytes, total)
    this.isDone = isDone
    if (isDone) return
    this.isCongested = !isWhole
    const taken = isWhole ? bytes.length : this.#res.getWriteOffset() - this.#offset
    this.#offset += taken
    if (taken === bytes.length) return
    this.isWithholding = false
    this.#pending.drop()
    this.keep(piece.subarray(taken))
  }

  #writeStream(slice: Buffer | null, isLast: boolean): void {
    const isEmpty = slice === null && !this.#headSent
    if (!this.#headSent) this.#sendHead(slice)
    if (slice !== null) this.#writeChunk(slice)
    if (!isLast || this.isHolding) return
    // A stream that ended before its first byte: the library can only say so with a length.
    if (isEmpty) this.#beforeEnd().end('', this.isClosing)
    else this.#beforeEnd().end()
    this.isDone = true
  }

  /**
   * The library takes every chunk, however many it has buffered, and does not say how many. So while it
   * is congested one byte is offered: if it could send all it had, the rest may follow.
   */
  #writeChunk(bytes: Buffer): void {
    let rest = bytes
    if (this.isCongested && bytes.length > 1) {
      rest = bytes.subarray(1)
      this.isCongested = !this.#res.write(bytes.subarray(0, 1))
      if (this.isCongested) {
        this.keep(rest)
        return
      }
    }
    this.isCongested = !this.#res.write(rest)
  }

  /**
   * With the last byte of a sized body the response is over for the library, and what still comes of the request too:
   * while the backend wants more of that, the byte has to wait for the backend's end.
   */
  get #mustGoOn(): boolean {
    const { requestDone, localReply } = this.#ex!
    return !this.isEnding && !requestDone && localReply === null
  }

  get #hasContentLength(): boolean {
    return this.isMute && !this.isRefused
  }

  /** Bytes of the head that would leave with `bytes`; 0 when it has left. */
  #unsentHead(bytes: Buffer | null): number {
    if (this.#headSent) return 0
    this.#head ??= this.#makeHead(bytes)
    return this.#head.length
  }

  /** The call that ends the response tells the library to close, and the library writes `connection: close` itself. */
  #makeHead(bytes: Buffer | null): Buffer {
    const { isClosing } = this
    const brief = headText(this.#ex!, this.#hasContentLength, isClosing && this.#wantsClose)
    this.#endsNow = this.#isAll(bytes, brief.length)
    if (this.#endsNow || !isClosing || this.#wantsClose) return brief
    return headText(this.#ex!, this.#hasContentLength, true)
  }

  /** Whether the response, with a head of `headBytes`, is complete with `bytes`, and fits one cork. */
  #isAll(bytes: Buffer | null, headBytes: number): boolean {
    const body = this.#pending.bytes + (bytes?.length ?? 0)
    if (this.kind === BODY_LENGTH)
      return body === this.#ex!.responseLength && headBytes + body <= ROOM && !this.#mustGoOn
    return this.kind === BODY_STREAM ? body === 0 : !this.#hasContentLength
  }

  #sendHead(bytes: Buffer | null): void {
    this.#unsentHead(bytes)
    this.#headSent = true
    this.#res.writeStatus(this.#head!)
    this.#head = null
  }

  /** The response object dies with its end; the connection must not stay paused. */
  #beforeEnd(): HttpResponse {
    if (this.isPaused) {
      this.isPaused = false
      this.#res.resume()
    }
    return this.#res
  }
}

/** Together with the least slice of a body it would not fit a cork. */
function isLarge(headBytes: number): boolean {
  return headBytes > ROOM - SLICE_MIN
}

/** What the cork is for: a closure per write would cost more than these. */
let writing: UwsAnswer
let writingBytes: Buffer | null = null
let writingIsLast = false

function writeCorked(): void {
  const bytes = writingBytes
  writingBytes = null
  writing.writeOut(bytes, writingIsLast)
}
