/**
 * HTTP/1.0 and 1.1 towards clients: one object per connection, one exchange at a time.
 * Grammar is llhttp's (strict); what it leaves open is decided here: Host, coding, version, limits,
 * timeouts, pipelining, early responses. RFC 9112.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, BODY_STREAM, Exchange } from '#engine/contract/exchange.ts'
import type { ClientEvents, ClientStream, ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { writeChunk } from '#engine/http/chunked.ts'
import { takeFraming } from '#engine/http/fields.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import {
  FAULT_METHOD,
  FAULT_REFUSED,
  HEAD_OK,
  HEAD_REFUSED,
  type Llhttp,
  type MessageHandler,
  type Parser,
  REQUEST
} from '#engine/http/llhttp.ts'
import { hasNoContent, safeTrailers, statusLine } from '#engine/http/status.ts'
import { PREFACE, PREFACE_TOLD } from '#engine/http2/protocol.ts'
import type { FrontendHttp2 } from '#engine/ir/frontend.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { PipeEnd } from '#engine/socket/pipe.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import { BULK_BODY, BULK_NONE, type Wire, type WireOwner } from '#engine/socket/wire.ts'
import type { OpenConnection } from './crowd.ts'
import { codeOfFault, isForeign, readRequest } from './h1-request.ts'
import { Http2Connection } from './h2.ts'

/** Bytes a client may send ahead (pipelining) before we stop reading. */
const AHEAD_BYTES_MAX = 64 * 1024

/** What the connections of one bind share. */
export interface Http1Server {
  readonly port: number
  readonly events: ClientEvents
  readonly llhttp: Llhttp
  readonly timers: TimerWheel
  settings: FrontendSettings['http']
  http2: FrontendHttp2
  /** Responses announce the end of their connection. */
  draining: boolean
  readonly connections: Set<OpenConnection>
  closed(): void
}

/** How long a draining bind waits for the first request of a connection that it had accepted. */
const FIRST_REQUEST_MS = 1_000

/** Why the timer runs. */
const WAIT_NOTHING = 0
const WAIT_REQUEST = 1
const WAIT_HEAD = 2
const WAIT_BODY = 3
const WAIT_CLIENT = 4
/** The body is paused: a wire that does not read hears nothing of its client, not even that it has gone. */
const WAIT_SERVER = 5

export class Http1Connection implements WireOwner, MessageHandler, ClientStream, OpenConnection {
  readonly tls: ClientTls | null
  readonly #server: Http1Server
  readonly #wire: Wire
  readonly #timer: WheelTimer
  #block = new HeaderBlock()
  #parser: Parser | null = null
  #ex: Exchange | null = null
  #waiting = WAIT_NOTHING
  /** Why onHead refused the request. */
  #refusal: ErrorCode = 'BAD_REQUEST'
  #httpMinor = 1
  #keepAlive = true
  /** The response goes out in chunks. */
  #chunked = false
  /** The response has no content, whatever is sent. */
  #mute = false
  /** An exchange has been answered on this connection. */
  #hasServed = false
  #requestDone = true
  #responseDone = true
  #parsing = false
  #bodyPaused = false
  #bodyBytes = 0
  #slot: ReadSlot | null = null
  /** Bytes received behind the current request. */
  #ahead: Buffer | null = null
  #aheadScheduled = false
  /** What the connection has become, after an upgrade. */
  #pipe: PipeEnd | null = null
  #closed = false
  /** Bytes so far that may be HTTP/2's preface; -1: it is known that they are not. */
  #sniffed: number

  constructor(server: Http1Server, wire: Wire, tls: ClientTls | null = null) {
    this.tls = tls
    this.#server = server
    // On clear text a client may begin to speak HTTP/2 instead (RFC 9113 section 3.3); TLS has agreed on one.
    this.#sniffed = tls === null ? 0 : -1
    this.#wire = wire
    this.#timer = new WheelTimer(() => this.#onTimeout())
    wire.owner = this
    server.connections.add(this)
    this.#wait(WAIT_REQUEST)
    // Taken from the queue of a listener that closes: a silent one must not hold up the end.
    if (server.draining) this.drain()
  }

  get remoteAddress(): string {
    return this.#wire.remoteAddress
  }

  get remotePort(): number {
    return this.#wire.remotePort
  }

  get localAddress(): string {
    return this.#wire.localAddress
  }

  get localPort(): number {
    return this.#server.port
  }

  get httpVersion(): string {
    return this.#httpMinor === 0 ? '1.0' : '1.1'
  }

  // --- receiving ---

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    if (this.#sniffed >= 0 && this.#sniff(start, end, slot)) return
    if (this.#ahead !== null || this.#isHeld) this.#keepAhead(start, end)
    else this.#parse(start, end, slot)
  }

  /** True: the bytes are not for HTTP/1, or too few to tell. */
  #sniff(start: number, end: number, slot: ReadSlot | null): boolean {
    const { bytes, scratch } = this.#server.llhttp.memory
    const kept = this.#sniffed
    let matched = kept
    let at = start
    while (at < end && matched < PREFACE_TOLD && bytes[at] === PREFACE.charCodeAt(matched)) {
      at++
      matched++
    }
    this.#sniffed = matched === PREFACE_TOLD || at < end ? -1 : matched
    if (matched === PREFACE_TOLD) {
      this.#closed = true
      this.#server.timers.remove(this.#timer)
      this.#server.connections.delete(this)
      new Http2Connection(this.#server, this.#wire, null, kept).onRead(start, end, slot)
    } else if (at === end) this.#wait(WAIT_HEAD)
    else {
      if (kept > 0) this.#parse(scratch, scratch + bytes.latin1Write(PREFACE.slice(0, kept), scratch), null)
      return false
    }
    return true
  }

  /** What comes now has to wait: behind an exchange, or until the client reads the answers it has got. */
  get #isHeld(): boolean {
    if (this.#ex !== null) return this.#requestDone || this.#bodyPaused
    return !this.#receiving && this.#wire.congested
  }

  /** A request has begun to arrive and is not complete. */
  get #receiving(): boolean {
    return this.#parser?.started === true
  }

  /** Something of an exchange is here: closing the connection now would lose it. */
  get #isBusy(): boolean {
    return this.#ex !== null || this.#receiving || this.#ahead !== null
  }

  #keepAhead(start: number, end: number): void {
    const fresh = this.#server.llhttp.memory.bytes.subarray(start, end)
    this.#ahead = this.#ahead === null ? Buffer.from(fresh) : Buffer.concat([this.#ahead, fresh])
    if (this.#ahead.length >= AHEAD_BYTES_MAX) this.#wire.pause()
    if (this.#ex === null) this.#wait(WAIT_CLIENT)
  }

  #parse(start: number, end: number, slot: ReadSlot | null): void {
    let at = start
    this.#slot = slot
    this.#parsing = true
    while (at < end && !this.#closed) {
      const parser = this.#parser ?? this.#newParser()
      if (parser === null) break
      if (!parser.started) this.#begin(parser)
      const next = parser.execute(at, end)
      if (next < 0) {
        this.#parsing = false
        const isFirst = parser.fault === FAULT_METHOD && !this.#hasServed && at === start
        if (isFirst && isForeign(this.#server.llhttp.memory.bytes, start, end)) this.#destroy()
        else this.#fault(parser.fault)
        return
      }
      at = next
      if (!this.#requestDone) continue
      if (this.#ex === null) this.#next()
      if (at < end && !this.#closed && this.#isHeld) {
        this.#keepAhead(at, end)
        at = end
      }
    }
    this.#parsing = false
    this.#slot = null
    if (!this.#closed) this.#afterParse()
  }

  /** A parser for as long as the connection lasts. */
  #newParser(): Parser | null {
    this.#parser = this.#server.llhttp.acquire(REQUEST, this, this.#block)
    // More connections than parser states: shedding this one keeps the others served.
    if (this.#parser === null) this.#destroy()
    return this.#parser
  }

  #begin(parser: Parser): void {
    const { settings } = this.#server
    parser.headersMax = settings.headersMax
    parser.headBytesMax = settings.headBytesMax
    parser.uriBytesMax = settings.uriBytesMax
    this.#requestDone = false
  }

  #releaseParser(): void {
    if (this.#parser === null) return
    this.#server.llhttp.release(REQUEST, this.#parser)
    this.#parser = null
  }

  /** All received bytes have been parsed: decide what the connection waits for. */
  #afterParse(): void {
    if (!this.#receiving) return
    if (this.#parser!.inHead) {
      // One deadline for the whole head: a byte now and then does not extend it.
      if (this.#waiting !== WAIT_HEAD) this.#wait(WAIT_HEAD)
      return
    }
    if (this.#responseDone) {
      // The answer is out and the body is not in: the rest is not worth reading.
      this.#closeWire(true)
      return
    }
    if (!this.#bodyPaused) this.#wait(WAIT_BODY)
  }

  onHead(parser: Parser): number {
    this.#wait(WAIT_NOTHING)
    const refusal = this.#readHead(parser)
    if (refusal === null) {
      this.#server.events.onRequest(this.#ex!)
      return HEAD_OK
    }
    this.#refusal = refusal
    return HEAD_REFUSED
  }

  /** Makes the exchange, or says why there is none. */
  #readHead(parser: Parser): ErrorCode | null {
    this.#httpMinor = parser.versionMinor
    const framing = takeFraming(this.#block)
    this.#keepAlive = !framing.close && (this.#httpMinor === 1 || framing.keepAlive)
    const made = readRequest(this, parser, this.#block, framing, this.#server.settings.bodyBytesMax)
    if (typeof made === 'string') return made
    this.#ex = made
    this.#responseDone = false
    this.#bodyBytes = 0
    return null
  }

  onBody(start: number, end: number): void {
    const ex = this.#ex
    if (ex === null || this.#responseDone) return
    this.#bodyBytes += end - start
    ex.bytesReceived = this.#bodyBytes
    const { bodyBytesMax } = this.#server.settings
    if (bodyBytesMax > 0 && this.#bodyBytes > bodyBytesMax) {
      this.#keepAlive = false
      this.#server.events.onClientFault(ex, 'BODY_TOO_LARGE')
      return
    }
    const { bytes } = this.#server.llhttp.memory
    this.#wire.bulk = BULK_BODY
    if (!this.#server.events.onRequestBody(ex, bytes, start, end, this.#slot)) this.pauseBody()
  }

  onComplete(parser: Parser): void {
    this.#requestDone = true
    this.#wire.bulk = BULK_NONE
    const ex = this.#ex
    if (ex === null || this.#responseDone) return
    ex.requestDone = true
    this.#waitForBody()
    this.#server.events.onRequestEnd(ex, safeTrailers(parser.trailers))
  }

  #fault(fault: number): void {
    const code = fault === FAULT_REFUSED ? this.#refusal : codeOfFault(fault)
    const ex = this.#ex
    const isAnswered = ex === null && fault !== FAULT_REFUSED && this.#parser?.inHead === false
    this.#releaseParser()
    if (this.#closed) return
    this.#keepAlive = false
    if (isAnswered) {
      // The answer is out; a second one would be taken for the answer to something else.
      this.#closeWire(true)
      return
    }
    if (ex !== null) {
      // The head was good, the body is not: whatever was sent upstream must not be taken for whole.
      this.#server.events.onClientFault(ex, code)
      return
    }
    this.#responseDone = false
    const refused = new Exchange(this, '', '', '', '', this.#block, BODY_NONE, 0, turnStartedAt)
    this.#ex = refused
    this.#server.events.onRefused(refused, code)
  }

  pauseBody(): void {
    this.#bodyPaused = true
    this.#wire.pause()
    this.#wait(WAIT_SERVER)
  }

  resumeBody(): void {
    if (!this.#bodyPaused) return
    this.#bodyPaused = false
    if (!this.#requestDone || this.#waiting === WAIT_SERVER) this.#waitForBody()
    if (this.#ahead === null) this.#wire.resume()
    else if (!this.#requestDone) this.#scheduleAhead()
    else if (this.#ahead.length < AHEAD_BYTES_MAX) this.#wire.resume()
  }

  // --- sending ---

  sendInterim(status: number, headers: HeaderBlock): void {
    if (this.#httpMinor === 0) return
    this.#wire.write(`${statusLine(status)}${headers.lines()}\r\n`)
  }

  sendHead(ex: Exchange): void {
    const { status } = ex
    const isSwitch = status === 101
    this.#mute = hasNoContent(status, ex.method)
    this.#chunked = false
    if (this.#server.draining) this.#keepAlive = false
    let head = statusLine(status) + ex.response!.lines()
    if (!this.#mute && ex.responseBody === BODY_STREAM) {
      if (this.#httpMinor === 1) {
        this.#chunked = true
        head += 'Transfer-Encoding: chunked\r\n'
      } else this.#keepAlive = false
    }
    if (isSwitch) head += `Connection: upgrade\r\nUpgrade: ${ex.upgrade}\r\n`
    else if (!this.#keepAlive) head += 'Connection: close\r\n'
    else if (this.#httpMinor === 0) head += 'Connection: keep-alive\r\n'
    this.#wire.write(`${head}\r\n`)
  }

  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#mute || start === end) return true
    ex.bytesSent += end - start
    const wire = this.#wire
    if (this.#chunked) writeChunk(wire, chunk, start, end, slot)
    else wire.writeBytes(chunk, start, end, slot)
    if (!wire.congested) return true
    this.#wait(WAIT_CLIENT)
    return false
  }

  sendEnd(ex: Exchange, trailers: string): void {
    if (ex !== this.#ex) return
    if (this.#chunked) this.#wire.write(`0\r\n${trailers}\r\n`)
    this.#ex = null
    if (ex.waiting) this.#renewBlock()
    this.#hasServed = true
    this.#responseDone = true
    if (this.#parsing) return // #parse goes on from here
    if (!this.#requestDone) this.#closeWire(true)
    else this.#next()
  }

  /** A hook was overtaken and still holds the request: the next one must not fill its headers. */
  #renewBlock(): void {
    this.#block = new HeaderBlock()
    if (this.#parser !== null) this.#parser.block = this.#block
  }

  /** Both directions of the exchange are over: the next request, or the end of the connection. */
  #next(): void {
    this.#bodyPaused = false
    // Thousands of idle connections must not keep the heads that they sent last.
    this.#block.reset()
    if (!this.#keepAlive || this.#server.draining) {
      this.#closeWire(this.#ahead !== null)
      return
    }
    this.#wait(this.#wire.congested ? WAIT_CLIENT : WAIT_REQUEST)
    if (this.#ahead !== null) this.#scheduleAhead()
    else this.#wire.resume()
  }

  /** Requests sent ahead are parsed in a turn of their own: no recursion, however many there are. */
  #scheduleAhead(): void {
    if (this.#aheadScheduled || this.#parsing) return
    this.#aheadScheduled = true
    queueMicrotask(() => {
      this.#aheadScheduled = false
      const ahead = this.#ahead
      if (this.#closed || ahead === null) return
      if (this.#isHeld) {
        if (this.#ex === null) this.#wait(WAIT_CLIENT)
        return
      }
      enterTurn()
      this.#parseAhead(ahead)
      leaveTurn()
    })
  }

  #parseAhead(ahead: Buffer): void {
    const { bytes, scratch } = this.#server.llhttp.memory
    const part = ahead.subarray(0, AHEAD_BYTES_MAX)
    part.copy(bytes, scratch)
    this.#ahead = null
    this.#parse(scratch, scratch + part.length, null)
    if (this.#closed) return
    if (part.length < ahead.length) {
      // What did not fit into the scratch region comes behind what #parse has put back.
      const rest = ahead.subarray(part.length)
      this.#ahead = this.#ahead === null ? rest : Buffer.concat([this.#ahead, rest])
    }
    if (this.#isHeld) return
    if (this.#ahead === null) this.#wire.resume()
    else this.#scheduleAhead()
  }

  abort(ex: Exchange): void {
    this.#ex = null
    this.#responseDone = true
    const endsWithConnection = ex.responseBody === BODY_STREAM && !this.#chunked
    if (endsWithConnection && !this.#closed) {
      // Here an orderly close is how a whole response ends: only a reset says that this one is not.
      this.#leave()
      this.#wire.reset()
    } else this.#closeWire(false)
  }

  splice(ex: Exchange): SpliceEnd {
    ex.responseDone = true
    this.#ex = null
    this.#letGo()
    // It stays one of the bind's connections: a drain waits for it, and a cut reaches it.
    const end = new PipeEnd(this.#wire, this.#server.llhttp.memory.bytes, () => this.#forget())
    this.#pipe = end
    if (this.#ahead !== null) end.keep(this.#ahead)
    return end
  }

  // --- the connection's own life ---

  onEnd(): void {
    const ex = this.#ex
    this.#keepAlive = false
    // A FIN while an answer is pending means that the client has gone (docs/design/004-client-fin.md).
    if (ex !== null) this.#gone(ex)
    else if (!this.#closed) this.#closeWire(false)
  }

  onError(_code: string): void {
    const ex = this.#ex
    if (ex !== null) this.#gone(ex)
    else this.#leave()
  }

  #gone(ex: Exchange): void {
    this.#ex = null
    this.#responseDone = true
    this.#destroy()
    this.#server.events.onClientFault(ex, 'CLIENT_GONE')
  }

  onDrain(): void {
    const ex = this.#ex
    if (ex === null) {
      if (!this.#receiving) this.#next()
      return
    }
    if (this.#waiting === WAIT_CLIENT) this.#waitForBody()
    this.#server.events.onClientWritable(ex)
  }

  /** The bind drains: close now if nothing is under way, else after the response. */
  drain(): void {
    if (this.#closed || this.#isBusy) return
    if (this.#hasServed) this.#closeWire(false)
    // Its first request may be on the way: closing now would refuse a client that did nothing wrong.
    else this.#server.timers.arm(this.#timer, turnStartedAt, FIRST_REQUEST_MS)
  }

  /** There are too many connections: closes this one if nothing is under way, and says whether it did. */
  giveWay(): boolean {
    if (this.#closed || this.#isBusy) return false
    this.#closeWire(false)
    return true
  }

  /** The time for draining is over. */
  cut(): void {
    const ex = this.#ex
    if (ex !== null) this.#gone(ex)
    else if (this.#pipe !== null) this.#pipe.cut()
    else this.#destroy()
  }

  /** Who has to do something for the request's body to come in: the server, the client, or nobody any more. */
  #waitForBody(): void {
    this.#wait(this.#bodyPaused ? WAIT_SERVER : this.#requestDone ? WAIT_NOTHING : WAIT_BODY)
  }

  #wait(what: number): void {
    this.#waiting = what
    const { timers, settings } = this.#server
    if (what === WAIT_NOTHING) timers.disarm(this.#timer)
    else if (what === WAIT_REQUEST)
      timers.arm(this.#timer, turnStartedAt, this.#hasServed ? settings.idleTimeoutMs : silentMs(settings))
    else if (what === WAIT_HEAD) timers.arm(this.#timer, turnStartedAt, settings.headTimeoutMs)
    else if (what === WAIT_BODY) timers.arm(this.#timer, turnStartedAt, settings.bodyTimeoutMs)
    else timers.arm(this.#timer, turnStartedAt, settings.sendTimeoutMs)
  }

  #onTimeout(): void {
    const waited = this.#waiting
    this.#waiting = WAIT_NOTHING
    enterTurn()
    if (waited === WAIT_HEAD) {
      this.#refusal = 'HEAD_TIMEOUT'
      this.#fault(FAULT_REFUSED)
    } else if (waited === WAIT_BODY && this.#ex !== null) {
      this.#keepAlive = false
      this.#server.events.onClientFault(this.#ex, 'BODY_TIMEOUT')
    } else if (waited === WAIT_SERVER && this.#ex !== null) {
      this.#keepAlive = false
      this.#server.events.onClientFault(this.#ex, 'UPSTREAM_TIMEOUT')
    } else if (this.#ex !== null) this.#gone(this.#ex)
    else if (waited === WAIT_REQUEST) this.#closeWire(false)
    else this.#destroy()
    leaveTurn()
  }

  #closeWire(linger: boolean): void {
    if (this.#closed) return
    this.#leave()
    this.#wire.close(linger)
  }

  #destroy(): void {
    if (this.#closed) return
    this.#leave()
    this.#wire.destroy()
  }

  /** Forgets the connection: its socket is closed. */
  #leave(): void {
    if (this.#closed) return
    this.#letGo()
    this.#forget()
  }

  #letGo(): void {
    this.#closed = true
    this.#releaseLater()
    this.#server.timers.remove(this.#timer)
  }

  #forget(): void {
    this.#server.connections.delete(this)
    this.#server.closed()
  }

  #releaseLater(): void {
    // A parser cannot be given back while it is running.
    if (this.#parsing) queueMicrotask(() => this.#releaseParser())
    else this.#releaseParser()
  }
}

/** How long a connection may be open without a request: who opens one has something to say, unlike one that is kept. */
function silentMs({ headTimeoutMs, idleTimeoutMs }: FrontendSettings['http']): number {
  return Math.min(headTimeoutMs, idleTimeoutMs)
}
