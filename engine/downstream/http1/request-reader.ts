/**
 * The reading side of a connection of HTTP/1: bytes become request heads, bodies and ends. Grammar is llhttp's
 * (strict); what it leaves open is decided here and in request.ts: Host, coding, version, limits, and whether bytes
 * are for the exchange at hand or have to wait (pipelining).
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
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import { BULK_BODY, BULK_NONE, type Wire } from '#engine/socket/wire.ts'
import type { Http1Connection } from './connection.ts'
import { WAIT_BODY, WAIT_CLIENT, WAIT_HEAD, WAIT_NOTHING, WAIT_REQUEST, WAIT_REST, WAIT_SERVER } from './deadline.ts'
import { AHEAD_BYTES_MAX, PipelinedBytes } from './pipelined.ts'
import { codeOfFault, isForeign, isTlsHandshake, readRequest } from './request.ts'

/** So much of a request is read when it has been answered already: a whole prompt with pictures. */
const REST_BYTES_MAX = 16 * 1024 * 1024

/** A body in pieces of a few bytes is parsed by so much: each piece costs as much as a long one. */
const CHOPPY_BYTES = 4 * 1024

export class Http1RequestReader implements MessageHandler, Deferred {
  /** The request at hand is complete, or there is none. */
  requestDone = true
  /** parse() is running. */
  parsing = false
  readonly ahead = new PipelinedBytes(() => this.#onAhead())
  readonly #connection: Http1Connection
  readonly #server: HttpServer
  readonly #wire: Wire
  #block = new HeaderBlock()
  #parser: Parser | null = null
  /** Why onHead refused the request. */
  #refusal: ErrorCode = 'BAD_REQUEST'
  #bodyPaused = false
  #bodyBytes = 0
  /** Bytes of the body that came when the answer was out. */
  #dropped = 0
  /** Whose request is arriving; its answer may be over before. */
  #request: Exchange | null = null
  #slot: ReadSlot | null = null
  readonly #share = new ReadShare()
  /** What is ahead goes on in a later poll: this one's share is spent. */
  #isPutOff = false
  #isChoppy = false

  constructor(connection: Http1Connection) {
    this.#connection = connection
    this.#server = connection.server
    this.#wire = connection.wire
  }

  /** As below, or because other bytes wait already. */
  get mustWait(): boolean {
    return this.ahead.bytes !== null || this.#isHeld
  }

  /** What comes now has to wait: behind an exchange, or until the client reads the answers it has got. */
  get #isHeld(): boolean {
    if (this.#connection.ex !== null) return this.requestDone || this.#bodyPaused
    return !this.hasBegun && this.#wire.congested
  }

  /** A request has begun to arrive and is not complete. */
  get hasBegun(): boolean {
    return this.#parser?.started === true
  }

  // --- bytes ---

  /** Bytes [start, end) of the read memory wait, behind those that do already. */
  keep(start: number, end: number): void {
    this.ahead.keep(this.#server.llhttp.memory.bytes.subarray(start, end))
    if (this.ahead.isFull) this.#wire.pause()
    if (this.#connection.ex === null) this.#connection.deadline.wait(WAIT_CLIENT)
  }

  /** Bytes [start, end) of the read memory, which may hold any number of requests. */
  parse(start: number, end: number, slot: ReadSlot | null): void {
    const connection = this.#connection
    let at = start
    this.#slot = slot
    this.parsing = true
    this.#share.renew()
    while (at < end && !connection.closed) {
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
        const isFirst = parser.fault === FAULT_METHOD && !connection.deadline.hasServed && at === start
        if (isFirst) this.#failAtFirst(start, end)
        else this.#fail(parser.fault)
        return
      }
      at = next
      if (!this.requestDone) continue
      if (connection.ex === null) this.next()
      if (at < end && !connection.closed && this.#isHeld) {
        this.keep(at, end)
        at = end
      }
    }
    this.parsing = false
    this.#slot = null
    this.#isChoppy = this.#share.isOverdrawn
    if (!connection.closed) this.#afterParse()
  }

  /** The share is spent: bytes [start, end) of the read memory are parsed in a later poll. */
  #putOff(start: number, end: number): void {
    this.ahead.keep(this.#server.llhttp.memory.bytes.subarray(start, end))
    this.#isPutOff = true
    this.#wire.pause()
    goOnLater(this, this.#share)
  }

  goOn(): void {
    this.#isPutOff = false
    if (this.ahead.bytes !== null) this.#goAhead()
  }

  /** A parser for as long as the connection lasts. */
  #newParser(): Parser | null {
    this.#parser = this.#server.llhttp.acquire(REQUEST, this, this.#block)
    // More connections than parser states: shedding this one keeps the others served.
    if (this.#parser === null) this.#connection.destroy()
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
    const { deadline, ex } = this.#connection
    if (this.#parser!.inHead) {
      // One deadline for the whole head: a byte now and then does not extend it.
      if (deadline.waiting !== WAIT_HEAD) deadline.wait(WAIT_HEAD)
      return
    }
    if (ex === null) {
      this.dropRest()
      return
    }
    if (!this.#bodyPaused) deadline.wait(WAIT_BODY)
  }

  // --- one request, in the order in which llhttp tells of it ---

  onHead(parser: Parser): number {
    const connection = this.#connection
    connection.deadline.wait(WAIT_NOTHING)
    this.#share.left -= REQUEST_WORK + this.#block.count
    const refusal = this.#readHead(parser)
    if (refusal === null) {
      this.#server.events.onRequest(connection.ex!)
      return HEAD_OK
    }
    this.#refusal = refusal
    return HEAD_REFUSED
  }

  /** Makes the exchange, or says why there is none. */
  #readHead(parser: Parser): ErrorCode | null {
    const connection = this.#connection
    const { answer } = connection
    const minor = parser.versionMinor
    answer.httpMinor = minor
    const framing = takeFraming(this.#block)
    connection.keepAlive = !framing.close && (minor === 1 || framing.keepAlive)
    const made = readRequest(answer, parser, this.#block, framing, this.#server.settings.bodyBytesMax)
    if (typeof made === 'string') return made
    connection.ex = made
    this.#request = made
    this.#bodyBytes = 0
    this.#dropped = 0
    return null
  }

  onBody(start: number, end: number): void {
    const { ex } = this.#connection
    this.#share.left--
    this.#bodyBytes += end - start
    if (ex === null) {
      this.#dropped += end - start
      return
    }
    ex.bytesReceived = this.#bodyBytes
    const { bodyBytesMax } = this.#server.settings
    if (bodyBytesMax > 0 && this.#bodyBytes > bodyBytesMax) {
      this.#connection.keepAlive = false
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
    const { ex } = this.#connection
    if (ex === null) return
    ex.requestDone = true
    this.waitForBody()
    this.#server.events.onRequestEnd(ex, safeTrailers(parser.trailers))
  }

  /**
   * The answer is out before its request is in. A client that has not noticed may send the next request behind it, and
   * would lose that if we closed: so the rest is read and dropped, if it is short.
   */
  dropRest(): void {
    const connection = this.#connection
    const { deadline, server } = connection
    if (!connection.keepAlive || server.draining || this.isRestLong) {
      connection.close(true)
      return
    }
    if (deadline.waiting === WAIT_REST) return
    deadline.wait(WAIT_REST)
    this.#bodyPaused = false
    if (this.ahead.bytes === null) this.#wire.resume()
    else this.#scheduleAhead()
  }

  /** What is missing of the request is more than is worth reading when it has been answered. */
  get isRestLong(): boolean {
    if (this.#request === null) return false
    const { requestBody, requestLength, expectsContinue } = this.#request
    const rest = requestBody === BODY_LENGTH ? requestLength - this.#bodyBytes : 0
    // Who waits for 100 may send the body, or not: what comes next cannot be told apart (RFC 9110 section 10.1.1).
    const isUndecided = expectsContinue && this.#bodyBytes === 0
    return isUndecided || this.#dropped + rest > REST_BYTES_MAX
  }

  /** The request cannot be read on; `code` becomes its answer if it has none yet. */
  refuse(code: ErrorCode): void {
    this.#refusal = code
    this.#fail(FAULT_REFUSED)
  }

  /** What begins the connection is not HTTP/1: whoever can be told is told why. */
  #failAtFirst(start: number, end: number): void {
    const { bytes } = this.#server.llhttp.memory
    if (this.#connection.tls === null && isTlsHandshake(bytes, start, end)) this.refuse('TLS_ON_PLAIN_PORT')
    else if (isForeign(bytes, start, end)) this.#connection.destroy()
    else this.#fail(FAULT_METHOD)
  }

  #fail(fault: number): void {
    const connection = this.#connection
    const { ex } = connection
    const code = fault === FAULT_REFUSED ? this.#refusal : codeOfFault(fault)
    const isAnswered = ex === null && fault !== FAULT_REFUSED && this.#parser?.inHead === false
    this.#releaseParser()
    if (connection.closed) return
    connection.keepAlive = false
    if (isAnswered) {
      // The answer is out; a second one would be taken for the answer to something else.
      connection.close(true)
      return
    }
    if (ex !== null) {
      // The head was good, the body is not: whatever was sent upstream must not be taken for whole.
      this.#server.events.onClientFault(ex, code)
      return
    }
    const refused = new Exchange(connection.answer, '', '', '', '', this.#block, BODY_NONE, 0, turnStartedAt)
    connection.ex = refused
    this.#server.events.onRefused(refused, code)
  }

  // --- the pace of the body ---

  pauseBody(): void {
    this.#bodyPaused = true
    this.#wire.pause()
    this.#connection.deadline.wait(WAIT_SERVER)
  }

  resumeBody(): void {
    if (!this.#bodyPaused) return
    this.#bodyPaused = false
    if (!this.requestDone || this.#connection.deadline.waiting === WAIT_SERVER) this.waitForBody()
    if (this.ahead.bytes === null) this.#wire.resume()
    else if (!this.requestDone) this.#scheduleAhead()
    else if (!this.ahead.isFull) this.#wire.resume()
  }

  /** Who has to do something for the request's body to come in: the server, the client, or nobody any more. */
  waitForBody(): void {
    this.#connection.deadline.wait(this.#bodyPaused ? WAIT_SERVER : this.requestDone ? WAIT_NOTHING : WAIT_BODY)
  }

  // --- between requests ---

  /** Both directions of the exchange are over: the next request, or the end of the connection. */
  next(): void {
    const connection = this.#connection
    this.#bodyPaused = false
    // Thousands of idle connections must not keep the heads that they sent last.
    this.#block.reset()
    if (!connection.keepAlive) {
      connection.close(this.ahead.bytes !== null)
      return
    }
    const isSent = !this.#wire.congested
    connection.deadline.wait(isSent ? WAIT_REQUEST : WAIT_CLIENT)
    // The answer has promised another one: its head left before there was a drain.
    if (isSent && this.#server.draining) connection.deadline.waitForLast()
    if (this.ahead.bytes === null) this.#wire.resume()
    else this.#scheduleAhead()
  }

  /** Somebody still holds the headers of the last request. */
  renewBlock(): void {
    this.#block = new HeaderBlock()
    if (this.#parser !== null) this.#parser.block = this.#block
  }

  #scheduleAhead(): void {
    if (!this.parsing) this.ahead.schedule()
  }

  #onAhead(): void {
    if (this.#isPutOff) return
    enterTurn()
    this.#goAhead()
    leaveTurn()
  }

  #goAhead(): void {
    const { closed, ex, deadline } = this.#connection
    if (closed) return
    if (!this.#isHeld) this.#parseAhead()
    else if (ex === null) deadline.wait(WAIT_CLIENT)
  }

  #parseAhead(): void {
    const { bytes, scratch } = this.#server.llhttp.memory
    const sent = this.ahead.take()
    if (sent === null) return
    const length = Math.min(sent.length, AHEAD_BYTES_MAX)
    sent.copy(bytes, scratch, 0, length)
    this.parse(scratch, scratch + length, null)
    if (this.#connection.closed) return
    if (length < sent.length) this.ahead.putBack(sent.subarray(length))
    if (this.#isPutOff) return
    if (this.#isHeld) this.#listen()
    else if (this.ahead.bytes === null) this.#wire.resume()
    else this.#scheduleAhead()
  }

  /** Nothing but its answer is missing: only a wire that reads notices that the client leaves. */
  #listen(): void {
    const waits = this.#connection.ex !== null && this.requestDone && !this.#bodyPaused
    if (waits && !this.ahead.isFull) this.#wire.resume()
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
