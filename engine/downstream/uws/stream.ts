/**
 * One request of uWebSockets.js and its response. The library frames the body and writes Date; the
 * head goes out in one piece. Its response object is dead once it has been ended or aborted, and
 * throws when touched then: `#isLive` guards every use.
 */

import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, Exchange } from '#engine/contract/exchange.ts'
import type { ClientEvents } from '#engine/contract/exchange-events.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { inTurn, markDirty, turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import { plainAddress } from '#engine/socket/wire.ts'
import { UwsAnswer } from './answer.ts'
import { addressText } from './head.ts'
import {
  drain,
  fitsLibraryCork,
  type HttpRequest,
  type HttpResponse,
  isLibraryTurn,
  markLibraryTurn,
  primePause,
  reopen,
  restart
} from './library.ts'
import { type RequestOwner, readRequest } from './request.ts'
import { type Handshake, switchToWebSocket } from './websocket.ts'

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
  #bodyBytes = 0
  #bodyDeadline = 0
  // --- the response ---
  readonly #answer: UwsAnswer
  /** sendBody has returned "stop": onClientWritable is owed. */
  #isOwed = false
  /** What is to be written waits for a turn of our own. */
  #isPutOff = false
  #sendDeadline = 0

  constructor(server: UwsServer, res: HttpResponse, tls: ClientTls | null) {
    this.#server = server
    this.localPort = server.port
    this.tls = tls
    this.#res = res
    this.#answer = new UwsAnswer(res)
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
    markLibraryTurn()
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
    this.#answer.isClosing = true
    this.#answer.isRefused = true
    const ex = new Exchange(this, method, '', '', '', new HeaderBlock(), BODY_NONE, 0, turnStartedAt)
    this.#ex = ex
    setImmediate(() => {
      if (this.#isLive) inTurn(() => this.#server.events.onRefused(ex, code))
    })
  }

  #expectBody(): void {
    this.#isReading = true
    this.#res.onData((chunk, isLast) => inTurn(() => this.#onData(chunk, isLast)))
    this.#waitForBody()
    this.#armNext(turnStartedAt)
  }

  #waitForBody(): void {
    this.#bodyDeadline = turnStartedAt + this.#server.settings.bodyTimeoutMs
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    markLibraryTurn()
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
    this.#answer.isPaused = true
    this.#res.pause()
    if (this.#answer.isCongested) this.#arm(RETRY_MS)
  }

  resumeBody(): void {
    if (!this.#answer.isPaused || !this.#isLive) return
    this.#answer.isPaused = false
    reopen(this.#res)
    this.#waitForBody()
    this.#armNext(turnStartedAt)
    if (this.#answer.isCongested) this.#write(null)
  }

  #onAborted(): void {
    if (this.#isLive) inTurn(() => this.#gone())
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
    if (this.#server.draining || this.wantsClose) this.#answer.isClosing = true
    this.#answer.begin(ex, this.wantsClose)
    if (ex.status !== 101) markDirty(this)
  }

  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, _slot: ReadSlot | null): boolean {
    const answer = this.#answer
    if (answer.isMute || start === end || !this.#isLive) return true
    ex.bytesSent += end - start
    const bytes = chunk.subarray(start, end)
    const isSmall = answer.kind === BODY_STREAM && bytes.length <= SMALL_BYTES
    if (answer.isHolding && (answer.isCongested || !isSmall)) this.#write(null)
    if (answer.isHolding || isSmall) {
      if (!answer.isHolding) markDirty(this)
      answer.keep(bytes)
    } else this.#write(bytes)
    const hasRoom = !(answer.isCongested || this.#isPutOff)
    if (!hasRoom) this.#isOwed = true
    return hasRoom
  }

  sendEnd(ex: Exchange, _trailers: string): void {
    if (ex !== this.#ex || !this.#isLive) return
    this.#answer.isEnding = true
    this.#write(null)
  }

  /** End of the round: what has been collected leaves. */
  flush(): void {
    if (!this.#isLive || this.#answer.isEnding) return
    if (this.#answer.isDue) this.#write(null)
    if (this.#isOwed && !this.#answer.isCongested) this.#askForMore()
  }

  #askForMore(): void {
    const ex = this.#ex
    const { isEnding, isHolding, isWithholding } = this.#answer
    if (!this.#isLive || isEnding || (isHolding && !isWithholding) || ex === null) return
    this.#isOwed = false
    this.#server.events.onClientWritable(ex)
  }

  /** Sends what is held and then `bytes`. */
  #write(bytes: Buffer | null): void {
    const answer = this.#answer
    if (this.#isPutOff || (isLibraryTurn() && !fitsLibraryCork(answer.demand(bytes)))) {
      this.#putOff(bytes)
      return
    }
    const wasCongested = answer.isCongested
    answer.write(bytes)
    if (answer.isDone) this.#finish()
    if (!this.#isLive) return
    if (!answer.isCongested) {
      if (this.#isOwed) markDirty(this)
      // What the library could not send of a cork it keeps to itself, and then its clock of 10 s runs.
      if (this.#timer === null) this.#armNext(turnStartedAt)
      return
    }
    if (!wasCongested) {
      this.#sendDeadline = turnStartedAt + this.#server.settings.sendTimeoutMs
      this.#res.onWritable(() => this.#onWritable())
    }
    // A failed write has set the library's clock, and has polled for reading.
    if (answer.isPaused) this.#res.pause()
    this.#armNext(turnStartedAt)
  }

  /** In a turn of the library's own there may be no room for so much: what does not fit its cork it may lose. */
  #putOff(bytes: Buffer | null): void {
    if (bytes !== null) this.#answer.keep(bytes)
    if (this.#isPutOff) return
    this.#isPutOff = true
    setImmediate(() => {
      this.#isPutOff = false
      if (this.#isLive) inTurn(() => this.#write(null))
    })
  }

  #onWritable(): boolean {
    if (this.#isLive) inTurn(() => this.#goOn())
    return true
  }

  #goOn(): void {
    this.#sendDeadline = turnStartedAt + this.#server.settings.sendTimeoutMs
    if (this.#answer.isHolding) this.#write(null)
    else {
      drain(this.#res)
      if (this.#answer.kind === BODY_LENGTH) this.#answer.isCongested = false
    }
    // Also while it may be congested: the next piece is what finds out.
    this.#askForMore()
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
    if (this.#isLive) this.#checkTime()
  }

  #checkTime(): void {
    const now = turnStartedAt
    const ex = this.#ex
    if (this.#answer.isCongested && now >= this.#sendDeadline) {
      this.#isLive = false
      this.#res.close()
      this.#gone()
      return
    }
    if (this.#isReading && !this.#answer.isPaused && now >= this.#bodyDeadline && ex !== null) {
      this.#answer.isClosing = true
      this.#server.events.onClientFault(ex, 'BODY_TIMEOUT')
      return
    }
    if (!this.#answer.isPaused) restart(this.#res)
    else if (this.#answer.isCongested) this.#write(null)
    this.#armNext(now)
  }

  #armNext(now: number): void {
    if (!this.#isLive) return
    let delay = RESTART_MS
    if (this.#answer.isCongested) delay = Math.min(delay, this.#sendDeadline - now)
    if (this.#isReading && !this.#answer.isPaused) delay = Math.min(delay, this.#bodyDeadline - now)
    this.#arm(this.#answer.isPaused && this.#answer.isCongested ? RETRY_MS : delay)
  }

  /** Nothing more happens here: the response is out, or the client has gone. */
  #finish(): void {
    this.#isLive = false
    this.#answer.drop()
    if (this.#timer !== null) this.#server.timers.remove(this.#timer)
  }
}
