/**
 * One request of uWebSockets.js and its response. The library frames the body and writes Date; the
 * head goes out in one piece. Its response object is dead once it has been ended or aborted, and
 * throws when touched then: `#isLive` guards every use.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, Exchange } from '#engine/contract/exchange.ts'
import type { ClientEvents, ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent } from '#engine/http/status.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { enterTurn, leaveTurn, markDirty, turnStartedAt } from '#engine/socket/round.ts'
import { plainAddress } from '#engine/socket/wire.ts'
import { BodyWriter } from './uws-body.ts'
import { addressText, headText } from './uws-head.ts'
import { drain, type HttpRequest, type HttpResponse, primePause, reopen, restart } from './uws-library.ts'
import { type RequestOwner, readRequest } from './uws-request.ts'
import { type Handshake, switchToWebSocket } from './uws-websocket.ts'

/** Pieces of a streamed body up to this size are collected and leave together when the round ends. */
const SMALL_BYTES = 16 * 1024
/** The library's clock runs for 8 to 12 s: restarted this often, it never strikes before ours does. */
const RESTART_MS = 4_000
/** A paused socket is not polled for writing either, so what waits to be written is tried this often. */
const RETRY_MS = 40

/** What the requests of one bind share. */
export interface UwsServer {
  port: number
  readonly events: ClientEvents
  readonly timers: TimerWheel
  settings: FrontendSettings['http']
  draining: boolean
}

export class UwsStream implements RequestOwner {
  wantsClose = false
  readonly remotePort = 0
  readonly httpVersion = '1.1'
  readonly localPort: number
  readonly tls: ClientTls | null
  readonly #server: UwsServer
  readonly #res: HttpResponse
  readonly #remote: ArrayBuffer
  #ex: Exchange | null = null
  #handshake: Handshake | null = null
  #isLive = true
  #timer: WheelTimer | null = null
  // --- the request's body ---
  #isReading = false
  #isPaused = false
  #bodyBytes = 0
  #bodyDeadline = 0
  // --- the response ---
  #kind: number = BODY_NONE
  #isMute = false
  #isClosing = false
  #isRefused = false // The request cannot be believed: the connection must not go on.
  #headSent = false
  #isEnding = false
  /** sendBody has said "stop": onClientWritable is owed. */
  #isOwed = false
  #sendDeadline = 0
  readonly #body = new BodyWriter()

  constructor(server: UwsServer, res: HttpResponse, tls: ClientTls | null) {
    this.#server = server
    this.localPort = server.port
    this.tls = tls
    this.#res = res
    this.#remote = res.getRemoteAddress()
    res.onAborted(() => this.#onAborted())
    primePause(res)
  }

  get remoteAddress(): string {
    return plainAddress(addressText(this.#remote))
  }

  // --- receiving ---

  /** Takes the request over; `handshake` when it may become a WebSocket. */
  begin(req: HttpRequest, handshake: Handshake | null): void {
    const { settings, events } = this.#server
    const read = readRequest(this, req, settings, handshake !== null)
    if (typeof read === 'string') {
      this.#refuse(read, req.getCaseSensitiveMethod())
      return
    }
    this.#ex = read
    this.#handshake = handshake
    const hasBody = read.requestBody !== BODY_NONE
    if (hasBody) this.#expectBody()
    events.onRequest(read)
    if (hasBody || !this.#isLive) return
    read.requestDone = true
    events.onRequestEnd(read, '')
  }

  /**
   * Refused in a later turn: until then the library takes whatever follows on the connection for a
   * request out of turn and closes. What follows a request that is framed badly must not be believed.
   */
  #refuse(code: ErrorCode, method: string): void {
    this.#isClosing = true
    this.#isRefused = true
    const ex = new Exchange(this, method, '', '', '', new HeaderBlock(), BODY_NONE, 0, turnStartedAt)
    this.#ex = ex
    setImmediate(() => {
      enterTurn()
      if (this.#isLive) this.#server.events.onRefused(ex, code)
      leaveTurn()
    })
  }

  #expectBody(): void {
    this.#isReading = true
    this.#res.onData((chunk, isLast) => {
      enterTurn()
      this.#onData(chunk, isLast)
      leaveTurn()
    })
    this.#waitForBody()
    this.#armNext(turnStartedAt)
  }

  #waitForBody(): void {
    this.#bodyDeadline = turnStartedAt + this.#server.settings.bodyTimeoutMs
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    const ex = this.#ex
    // After an early response the library reads and drops the rest of the body.
    if (ex === null || !this.#isLive) return
    this.#waitForBody()
    if (chunk.byteLength > 0) this.#onBody(ex, Buffer.from(chunk))
    if (!isLast || !this.#isLive) return
    this.#isReading = false
    ex.requestDone = true
    this.#server.events.onRequestEnd(ex, '')
  }

  #onBody(ex: Exchange, bytes: Buffer): void {
    const { settings, events } = this.#server
    this.#bodyBytes += bytes.length
    ex.bytesReceived = this.#bodyBytes
    if (settings.bodyBytesMax > 0 && this.#bodyBytes > settings.bodyBytesMax) {
      events.onClientFault(ex, 'BODY_TOO_LARGE')
      return
    }
    // One read may hold several pieces, and a failed write polls for reading again: pause every time.
    if (!events.onRequestBody(ex, bytes, 0, bytes.length, null)) this.pauseBody()
  }

  pauseBody(): void {
    if (!this.#isLive) return
    this.#isPaused = true
    this.#res.pause()
    if (this.#body.isCongested) this.#arm(RETRY_MS)
  }

  resumeBody(): void {
    if (!this.#isPaused || !this.#isLive) return
    this.#isPaused = false
    reopen(this.#res)
    this.#waitForBody()
    this.#armNext(turnStartedAt)
    if (this.#body.isCongested) this.#write(null)
  }

  #onAborted(): void {
    enterTurn()
    if (this.#isLive) this.#gone()
    leaveTurn()
  }

  #gone(): void {
    const ex = this.#ex
    this.#finish()
    if (ex !== null) this.#server.events.onClientFault(ex, 'CLIENT_GONE')
  }

  // --- sending ---

  /** The library can write no interim response but 100, which it sends by itself. */
  sendInterim(): void {}

  sendHead(ex: Exchange): void {
    this.#isMute = hasNoContent(ex.status, ex.method)
    this.#kind = this.#isMute ? BODY_NONE : ex.responseBody
    if (this.#server.draining || this.wantsClose) this.#isClosing = true
    if (ex.status !== 101) markDirty(this)
  }

  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, _slot: ReadSlot | null): boolean {
    if (this.#isMute || start === end || !this.#isLive) return true
    ex.bytesSent += end - start
    const bytes = chunk.subarray(start, end)
    const isSmall = this.#kind === BODY_STREAM && bytes.length <= SMALL_BYTES
    if (this.#body.isHolding && (this.#body.isCongested || !isSmall)) this.#write(null)
    if (this.#body.isHolding || isSmall) {
      if (!this.#body.isHolding) markDirty(this)
      this.#body.keep(bytes)
    } else this.#write(bytes)
    if (this.#body.isCongested) this.#isOwed = true
    return !this.#body.isCongested
  }

  sendEnd(ex: Exchange, _trailers: string): void {
    if (ex !== this.#ex || !this.#isLive) return
    this.#isEnding = true
    this.#write(null)
  }

  /** End of the round: what has been collected leaves. */
  flush(): void {
    if (!this.#isLive || this.#isEnding) return
    if (this.#body.isHolding || (this.#kind === BODY_LENGTH && !this.#headSent)) this.#write(null)
    if (this.#isOwed && !this.#body.isCongested) this.#askForMore()
  }

  #askForMore(): void {
    const ex = this.#ex
    if (!this.#isLive || this.#isEnding || this.#body.isHolding || ex === null) return
    this.#isOwed = false
    this.#server.events.onClientWritable(ex)
  }

  /** Sends what is held and then `bytes`, corked: head and body leave in one system call. */
  #write(bytes: Buffer | null): void {
    const wasCongested = this.#body.isCongested
    writing = this
    writingBytes = bytes
    this.#res.cork(writeCorked)
    if (!this.#isLive) return
    if (!this.#body.isCongested) {
      if (this.#isOwed) markDirty(this)
      return
    }
    if (!wasCongested) {
      this.#sendDeadline = turnStartedAt + this.#server.settings.sendTimeoutMs
      this.#res.onWritable(() => this.#onWritable())
    }
    // A failed write has set the library's clock, and has polled for reading.
    if (this.#isPaused) this.#res.pause()
    this.#armNext(turnStartedAt)
  }

  /** Inside the cork. */
  writeOut(bytes: Buffer | null): void {
    if (this.#kind === BODY_NONE) this.#endEmpty()
    else if (this.#kind === BODY_LENGTH) this.#writeSized(bytes)
    else this.#writeStream(bytes)
  }

  #endEmpty(): void {
    if (!this.#isEnding) return
    const saysLength = this.#isMute && !this.#isRefused
    this.#writeHead(!saysLength)
    const res = this.#beforeEnd()
    // The length of what would be there is among the header lines, if the upstream named it.
    if (saysLength) res.endWithoutBody()
    else res.endWithoutBody(0, this.#isClosing)
    this.#finish()
  }

  #writeSized(bytes: Buffer | null): void {
    const total = this.#ex!.responseLength
    if (!this.#headSent) {
      const isWhole = bytes !== null && bytes.length === total && total <= SMALL_BYTES
      this.#writeHead(isWhole)
      if (isWhole) {
        this.#beforeEnd().end(bytes, this.#isClosing)
        this.#finish()
        return
      }
      if (bytes === null) this.#body.isCongested = !this.#res.tryEnd('', total)[0]
    }
    for (const piece of this.#body.take(bytes)) {
      if (this.#body.willEnd(piece, total)) this.#beforeEnd()
      if (this.#body.writeSized(this.#res, piece, total)) this.#finish()
    }
  }

  #writeStream(bytes: Buffer | null): void {
    const pieces = this.#body.take(bytes)
    if (pieces.length > 0 && !this.#headSent) this.#writeHead(false)
    for (const piece of pieces) this.#body.writeChunk(this.#res, piece)
    if (!this.#isEnding || this.#body.isHolding) return
    if (!this.#headSent) {
      // A stream that ended before its first byte: the library can only say so with a length.
      this.#writeHead(true)
      this.#beforeEnd().end('', this.#isClosing)
    } else this.#beforeEnd().end()
    this.#finish()
  }

  /** `endsNow`: the library is told about closing by the call that ends the response, and says it itself. */
  #writeHead(endsNow: boolean): void {
    this.#headSent = true
    const saysClose = this.#isClosing && (this.wantsClose || !endsNow)
    this.#res.writeStatus(headText(this.#ex!, this.#isMute && !this.#isRefused, saysClose))
  }

  /** The response object dies with its end; the connection must not stay paused. */
  #beforeEnd(): HttpResponse {
    if (this.#isPaused) {
      this.#isPaused = false
      this.#res.resume()
    }
    return this.#res
  }

  #onWritable(): boolean {
    if (!this.#isLive) return true
    enterTurn()
    this.#sendDeadline = turnStartedAt + this.#server.settings.sendTimeoutMs
    if (this.#body.isHolding) this.#write(null)
    else {
      drain(this.#res)
      if (this.#kind === BODY_LENGTH) this.#body.isCongested = false
    }
    // Also while it may be congested: the next piece is what finds out.
    this.#askForMore()
    leaveTurn()
    return true
  }

  abort(_ex: Exchange): void {
    if (!this.#isLive) return
    this.#finish()
    this.#res.close()
  }

  splice(ex: Exchange): SpliceEnd {
    const { timers } = this.#server
    ex.responseDone = true
    this.#finish()
    return switchToWebSocket(this.#res, ex, this.#handshake!, timers)
  }

  // --- time ---

  #arm(delayMs: number): void {
    this.#timer ??= new WheelTimer(() => this.#onTimer())
    this.#server.timers.arm(this.#timer, turnStartedAt, delayMs)
  }

  #onTimer(): void {
    enterTurn()
    if (this.#isLive) this.#checkTime()
    leaveTurn()
  }

  #checkTime(): void {
    const now = turnStartedAt
    const ex = this.#ex
    if (this.#body.isCongested && now >= this.#sendDeadline) {
      this.#isLive = false
      this.#res.close()
      this.#gone()
      return
    }
    if (this.#isReading && !this.#isPaused && now >= this.#bodyDeadline && ex !== null) {
      this.#isClosing = true
      this.#server.events.onClientFault(ex, 'BODY_TIMEOUT')
      return
    }
    if (!this.#isPaused) restart(this.#res)
    else if (this.#body.isCongested) this.#write(null)
    this.#armNext(now)
  }

  #armNext(now: number): void {
    if (!this.#isLive) return
    let delay = RESTART_MS
    if (this.#body.isCongested) delay = Math.min(delay, this.#sendDeadline - now)
    if (this.#isReading && !this.#isPaused) delay = Math.min(delay, this.#bodyDeadline - now)
    this.#arm(this.#isPaused && this.#body.isCongested ? RETRY_MS : delay)
  }

  /** Nothing more happens here: the response is out, or nobody wants it. */
  #finish(): void {
    this.#isLive = false
    this.#body.drop()
    if (this.#timer !== null) this.#server.timers.remove(this.#timer)
  }
}

/** What the cork is for: a closure per write would cost more than these. */
let writing: UwsStream
let writingBytes: Buffer | null = null

function writeCorked(): void {
  const bytes = writingBytes
  writingBytes = null
  writing.writeOut(bytes)
}
