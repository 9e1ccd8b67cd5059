/**
 * The requests of a connection of HTTP/1: bytes become heads, bodies and ends. Grammar is llhttp's (strict); Host,
 * coding, version and limits are decided here and in request.ts, and whether bytes have to wait (pipelining).
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, Exchange } from '#engine/contract/exchange.ts'
import type { HttpServer } from '#engine/downstream/http-server.ts'
import { takeFraming } from '#engine/http/fields.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { REQUEST } from '#engine/http/llhttp.ts'
import { FAULT_METHOD, FAULT_REFUSED } from '#engine/http/llhttp-faults.ts'
import { HEAD_OK, HEAD_REFUSED, type MessageHandler, type Parser } from '#engine/http/llhttp-parser.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { type Deferred, goOnLater, REQUEST_WORK, ReadShare } from '#engine/socket/read-share.ts'
import { inTurn, turnStartedAt } from '#engine/socket/round.ts'
import { BULK_BODY, BULK_NONE, type Wire } from '#engine/socket/wire.ts'
import {
  WAIT_BODY,
  WAIT_CLIENT,
  WAIT_HEAD,
  WAIT_NOTHING,
  WAIT_REMAINDER,
  WAIT_REQUEST,
  WAIT_SERVER
} from './deadline.ts'
import type { RequestOwner } from './owner.ts'
import { PIPELINED_BYTES_MAX, PipelinedBytes } from './pipelined.ts'
import { codeOfFault, isForeign, isTlsHandshake, readRequest } from './request.ts'

/** So much of a request is read and discarded behind its response: a whole prompt with pictures. */
const REMAINDER_BYTES_MAX = 16 * 1024 * 1024
/** A body in pieces of a few bytes is parsed by so much: each piece costs as much as a long one. */
const CHOPPY_BYTES = 4 * 1024

export class Http1RequestReader implements MessageHandler, Deferred {
  /** The request at hand is complete, or there is none. */
  requestDone = true
  /** parse() is running. */
  parsing = false
  readonly pipelined = new PipelinedBytes(() => this.#onPipelined())
  readonly #owner: RequestOwner
  readonly #server: HttpServer
  readonly #wire: Wire
  #block = new HeaderBlock()
  #parser: Parser | null = null
  /** Why onHead refused the request. */
  #refusal: ErrorCode = 'BAD_REQUEST'
  #bodyPaused = false
  #bodyBytes = 0
  /** Bytes of the body that came behind the response. */
  #discarded = 0
  /** Whose request is arriving; its response may be over before. */
  #request: Exchange | null = null
  #slot: ReadSlot | null = null
  readonly #share = new ReadShare()
  /** This poll's share is spent: what is pipelined is parsed in a later one. */
  #isPutOff = false
  #isChoppy = false

  constructor(owner: RequestOwner) {
    this.#owner = owner
    this.#server = owner.server
    this.#wire = owner.wire
  }

  /** What comes now has to wait, or other bytes wait already. */
  get mustWait(): boolean {
    return this.pipelined.bytes !== null || this.#isBlocked
  }

  /** What comes now has to wait: behind an exchange, or until the client has read earlier responses. */
  get #isBlocked(): boolean {
    if (this.#owner.ex !== null) return this.requestDone || this.#bodyPaused
    return !this.hasBegun && this.#wire.congested
  }

  /** A request has begun to arrive and is not complete. */
  get hasBegun(): boolean {
    return this.#parser?.started === true
  }

  // --- bytes ---

  /** Bytes [start, end) of the read memory wait, behind those that do already. */
  keep(start: number, end: number): void {
    this.pipelined.keep(this.#server.llhttp.memory.bytes.subarray(start, end))
    if (this.pipelined.isFull) this.#wire.pause()
    if (this.#owner.ex === null) this.#owner.deadline.wait(WAIT_CLIENT)
  }

  /** Bytes [start, end) of the read memory, which may hold any number of requests. */
  parse(start: number, end: number, slot: ReadSlot | null): void {
    const owner = this.#owner
    let at = start
    this.#slot = slot
    this.parsing = true
    this.#share.renew()
    while (at < end && !owner.closed) {
      if (this.#share.left <= 0) {
        this.#putOff(at, end)
        break
      }
      const parser = this.#parser ?? this.#newParser()
      if (parser === null) break
      if (!parser.started) this.#begin(parser)
      const next = parser.execute(at, this.#isChoppy ? Math.min(end, at + CHOPPY_BYTES) : end)
      if (next < 0) {
        this.parsing = false
        const isFirst = parser.fault === FAULT_METHOD && !owner.deadline.hasServed && at === start
        if (isFirst) this.#failAtFirst(start, end)
        else this.#fail(parser.fault)
        return
      }
      at = next
      if (!this.requestDone) continue
      if (owner.ex === null) this.next()
      if (at < end && !owner.closed && this.#isBlocked) {
        this.keep(at, end)
        at = end
      }
    }
    this.parsing = false
    this.#slot = null
    this.#isChoppy = this.#share.isOverdrawn
    if (!owner.closed) this.#afterParse()
  }

  /** The share is spent: bytes [start, end) of the read memory are parsed in a later poll. */
  #putOff(start: number, end: number): void {
    this.pipelined.keep(this.#server.llhttp.memory.bytes.subarray(start, end))
    this.#isPutOff = true
    this.#wire.pause()
    goOnLater(this, this.#share)
  }

  goOn(): void {
    this.#isPutOff = false
    if (this.pipelined.bytes !== null) this.#parsePipelinedIfFree()
  }

  /** A parser for as long as the connection lasts. */
  #newParser(): Parser | null {
    this.#parser = this.#server.llhttp.acquire(REQUEST, this, this.#block)
    // More connections than parser states: shedding this one keeps the others served.
    if (this.#parser === null) this.#owner.destroy()
    return this.#parser
  }

  #begin(parser: Parser): void {
    const { settings } = this.#server
    parser.headersMax = settings.headersMax
    parser.headBytesMax = settings.headBytesMax
    parser.uriBytesMax = settings.uriBytesMax
    this.requestDone = false
  }

  /** All received bytes have been parsed: decide what the connection waits for. */
  #afterParse(): void {
    if (!this.hasBegun) return
    const { deadline, ex } = this.#owner
    if (this.#parser!.inHead) {
      // One deadline for the whole head: a byte now and then does not extend it.
      if (deadline.waiting !== WAIT_HEAD) deadline.wait(WAIT_HEAD)
      return
    }
    if (ex === null) {
      this.discardRemainder()
      return
    }
    if (!this.#bodyPaused) deadline.wait(WAIT_BODY)
  }

  // --- one request, in the order in which llhttp tells of it ---

  onHead(parser: Parser): number {
    const owner = this.#owner
    owner.deadline.wait(WAIT_NOTHING)
    this.#share.left -= REQUEST_WORK + this.#block.count
    const refusal = this.#readHead(parser)
    if (refusal === null) {
      this.#server.events.onRequest(owner.ex!)
      return HEAD_OK
    }
    this.#refusal = refusal
    return HEAD_REFUSED
  }

  /** Makes the exchange, or says why there is none. */
  #readHead(parser: Parser): ErrorCode | null {
    const owner = this.#owner
    const minor = parser.versionMinor
    const framing = takeFraming(this.#block)
    owner.headArrived(minor, !framing.close && (minor === 1 || framing.keepAlive))
    const made = readRequest(owner.client, parser, this.#block, framing, this.#server.settings.bodyBytesMax)
    if (typeof made === 'string') return made
    owner.begin(made)
    this.#request = made
    this.#bodyBytes = 0
    this.#discarded = 0
    return null
  }

  onBody(start: number, end: number): void {
    const { ex } = this.#owner
    this.#share.left--
    this.#bodyBytes += end - start
    if (ex === null) {
      this.#discarded += end - start
      return
    }
    ex.bytesReceived = this.#bodyBytes
    const { bodyBytesMax } = this.#server.settings
    if (bodyBytesMax > 0 && this.#bodyBytes > bodyBytesMax) {
      this.#owner.closeAfterResponse()
      this.#server.events.onClientFault(ex, 'BODY_TOO_LARGE')
      return
    }
    const { bytes } = this.#server.llhttp.memory
    this.#wire.bulk = BULK_BODY
    if (!this.#server.events.onRequestBody(ex, bytes, start, end, this.#slot)) this.pauseBody()
  }

  onComplete(parser: Parser): void {
    this.requestDone = true
    this.#request = null
    this.#wire.bulk = BULK_NONE
    const { ex } = this.#owner
    if (ex === null) return
    ex.requestDone = true
    this.waitForBody()
    this.#server.events.onRequestEnd(ex, safeTrailers(parser.trailers))
  }

  /**
   * The response is out before its request is in. A client that has not noticed may send the next request behind it,
   * and would lose that if we closed: so the remainder is read and discarded, if it is short.
   */
  discardRemainder(): void {
    const owner = this.#owner
    const { deadline, server } = owner
    if (!owner.keepAlive || server.draining || this.isRemainderLong) {
      owner.close(true)
      return
    }
    if (deadline.waiting === WAIT_REMAINDER) return
    deadline.wait(WAIT_REMAINDER)
    this.#bodyPaused = false
    if (this.pipelined.bytes === null) this.#wire.resume()
    else this.#schedulePipelined()
  }

  /** More of the request is missing than is worth reading once it has its response. */
  get isRemainderLong(): boolean {
    if (this.#request === null) return false
    const { requestBody, requestLength, expectsContinue } = this.#request
    const remainder = requestBody === BODY_LENGTH ? requestLength - this.#bodyBytes : 0
    // A client that waits for 100 may send the body, or not: what comes next is either (RFC 9110 section 10.1.1).
    const isUndecided = expectsContinue && this.#bodyBytes === 0
    return isUndecided || this.#discarded + remainder > REMAINDER_BYTES_MAX
  }

  /** The request cannot be read on; `code` becomes its response if it has none yet. */
  refuse(code: ErrorCode): void {
    this.#refusal = code
    this.#fail(FAULT_REFUSED)
  }

  /** The connection does not begin with HTTP/1: a client that would understand it gets the reason. */
  #failAtFirst(start: number, end: number): void {
    const { bytes } = this.#server.llhttp.memory
    if (this.#owner.tls === null && isTlsHandshake(bytes, start, end)) this.refuse('TLS_ON_PLAIN_PORT')
    else if (isForeign(bytes, start, end)) this.#owner.destroy()
    else this.#fail(FAULT_METHOD)
  }

  #fail(fault: number): void {
    const owner = this.#owner
    const { ex } = owner
    const code = fault === FAULT_REFUSED ? this.#refusal : codeOfFault(fault)
    const isAnswered = ex === null && fault !== FAULT_REFUSED && this.#parser?.inHead === false
    this.#releaseParser()
    if (owner.closed) return
    owner.closeAfterResponse()
    if (isAnswered) {
      // The response is out; a second one would be taken for that of another request.
      owner.close(true)
      return
    }
    if (ex !== null) {
      // The head was good, the body is not: whatever was sent upstream must not be taken for whole.
      this.#server.events.onClientFault(ex, code)
      return
    }
    const refused = new Exchange(owner.client, '', '', '', '', this.#block, BODY_NONE, 0, turnStartedAt)
    owner.begin(refused)
    this.#server.events.onRefused(refused, code)
  }

  // --- the pace of the body ---

  pauseBody(): void {
    this.#bodyPaused = true
    this.#wire.pause()
    this.#owner.deadline.wait(WAIT_SERVER)
  }

  resumeBody(): void {
    if (!this.#bodyPaused) return
    this.#bodyPaused = false
    if (!this.requestDone || this.#owner.deadline.waiting === WAIT_SERVER) this.waitForBody()
    if (this.pipelined.bytes === null) this.#wire.resume()
    else if (!this.requestDone) this.#schedulePipelined()
    else if (!this.pipelined.isFull) this.#wire.resume()
  }

  /** Waits for whatever the request's body needs: the server, the client, or nothing any more. */
  waitForBody(): void {
    this.#owner.deadline.wait(this.#bodyPaused ? WAIT_SERVER : this.requestDone ? WAIT_NOTHING : WAIT_BODY)
  }

  // --- between requests ---

  /** Both directions of the exchange are over: the next request, or the end of the connection. */
  next(): void {
    const owner = this.#owner
    this.#bodyPaused = false
    // Thousands of idle connections must not keep the heads that they sent last.
    this.#block.reset()
    if (!owner.keepAlive) {
      owner.close(this.pipelined.bytes !== null)
      return
    }
    const isSent = !this.#wire.congested
    owner.deadline.wait(isSent ? WAIT_REQUEST : WAIT_CLIENT)
    // The response has promised another one: its head left before there was a drain.
    if (isSent && this.#server.draining) owner.deadline.waitForLast()
    if (this.pipelined.bytes === null) this.#wire.resume()
    else this.#schedulePipelined()
  }

  /** The headers of the last request are still in use. */
  renewBlock(): void {
    this.#block = new HeaderBlock()
    if (this.#parser !== null) this.#parser.block = this.#block
  }

  #schedulePipelined(): void {
    if (!this.parsing) this.pipelined.schedule()
  }

  #onPipelined(): void {
    if (!this.#isPutOff) inTurn(() => this.#parsePipelinedIfFree())
  }

  #parsePipelinedIfFree(): void {
    const { closed, ex, deadline } = this.#owner
    if (closed) return
    if (!this.#isBlocked) this.#parsePipelined()
    else if (ex === null) deadline.wait(WAIT_CLIENT)
  }

  #parsePipelined(): void {
    const { bytes, scratch } = this.#server.llhttp.memory
    const sent = this.pipelined.take()
    if (sent === null) return
    const length = Math.min(sent.length, PIPELINED_BYTES_MAX)
    sent.copy(bytes, scratch, 0, length)
    this.parse(scratch, scratch + length, null)
    if (this.#owner.closed) return
    if (length < sent.length) this.pipelined.putBack(sent.subarray(length))
    if (this.#isPutOff) return
    if (this.#isBlocked) this.#listen()
    else if (this.pipelined.bytes === null) this.#wire.resume()
    else this.#schedulePipelined()
  }

  /** Nothing but the response is missing: only a wire that reads notices that the client leaves. */
  #listen(): void {
    const waits = this.#owner.ex !== null && this.requestDone && !this.#bodyPaused
    if (waits && !this.pipelined.isFull) this.#wire.resume()
  }

  // --- the end ---

  /** The connection is over. A parser cannot be given back while it is running. */
  release(): void {
    if (this.parsing) queueMicrotask(() => this.#releaseParser())
    else this.#releaseParser()
  }

  #releaseParser(): void {
    if (this.#parser === null) return
    this.#server.llhttp.release(REQUEST, this.#parser)
    this.#parser = null
  }
}
