/**
 * Copies of requests for other backends (policy `requestMirror`). A copy is an exchange of its own whose
 * client is this file: it feeds the body in as the mirror takes it, and drops what comes back. Nothing
 * that happens to a copy is felt by the exchange it was made from: a mirror that is slow loses its copy.
 */

import { BODY_NONE, type ClientStream, Exchange, STEP_RECORDED, STEP_SERVE } from '#engine/contract/exchange.ts'
import type { ClientEvents } from '#engine/contract/exchange-events.ts'
import { hold, letGo } from '#engine/contract/held-bytes.ts'
import { COPIES, type Copies } from '#engine/contract/mirror.ts'
import type { Route, RouteMirror } from '#engine/contract/route.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { COPY_VIA, isCopyEnough } from '#engine/http/via.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { inTurn, turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'

/** Copies under way per mirror of a route and worker. */
const COPIES_MAX = 256
/** Body bytes that wait for all mirrors of a worker. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024
/** For a copy whose route has no `timeouts.request`: a mirror that never answers must not hold it for ever. */
const TIMEOUT_MS = 30_000

export interface MirrorsOptions {
  /** The lifecycle: copies pass through it like requests. */
  readonly events: ClientEvents
  readonly timers: TimerWheel
  /** 0 <= x < 1. */
  readonly random: () => number
}

export class Mirrors {
  readonly #options: MirrorsOptions
  /** Shared by all copies of the worker. */
  readonly #waiting = { bytes: 0 }

  constructor(options: MirrorsOptions) {
    this.#options = options
  }

  /** Sends copies of ex, as its hooks have left it, to the mirrors that are due. */
  begin(ex: Exchange, mirrors: readonly RouteMirror[]): void {
    // An upgrade begins a conversation, which cannot be mirrored.
    if (ex.upgrade !== null) return
    if (isCopyEnough(ex.request)) {
      for (const mirror of mirrors) mirror.looped()
      return
    }
    for (const mirror of mirrors) {
      if (mirror.share < 1 && this.#options.random() >= mirror.share) continue
      if (mirror.load.copies >= COPIES_MAX) {
        mirror.recorder.dropped(mirror.backend)
        continue
      }
      mirror.load.copies++
      const copy = new Copy(ex, mirror, this.#waiting, this.#options)
      if (ex.requestBody !== BODY_NONE) COPIES.set(ex, new Fan(copy, COPIES.get(ex)))
      copy.begin(ex)
    }
  }
}

/** One copy and those before it: a route has one mirror as a rule. */
class Fan implements Copies {
  readonly #one: Copies
  readonly #others: Copies | null

  constructor(one: Copies, others: Copies | null) {
    this.#one = one
    this.#others = others
  }

  body(chunk: Buffer, start: number, end: number): void {
    this.#one.body(chunk, start, end)
    this.#others?.body(chunk, start, end)
  }

  end(trailers: string): void {
    this.#one.end(trailers)
    this.#others?.end(trailers)
  }

  over(): void {
    this.#one.over()
    this.#others?.over()
  }
}

class Copy implements Copies, ClientStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localPort: number
  readonly httpVersion: string
  readonly tls: ClientTls | null
  readonly #ex: Exchange
  readonly #options: MirrorsOptions
  readonly #shared: { bytes: number }
  readonly #bytesMax: number
  /** Body bytes that the mirror has not taken yet. */
  readonly #waiting = new Pieces()
  #waitingBytes = 0
  /** The mirror takes bytes now. */
  #flows = false
  /** Trailer lines; null: the body has not ended. */
  #trailers: string | null = null

  constructor(ex: Exchange, mirror: RouteMirror, shared: { bytes: number }, options: MirrorsOptions) {
    const { client, method, path, query, authority, request, requestBody, requestLength } = ex
    this.remoteAddress = client.remoteAddress
    this.remotePort = client.remotePort
    this.localPort = client.localPort
    this.httpVersion = client.httpVersion
    this.tls = client.tls ?? null
    this.#options = options
    this.#shared = shared
    this.#bytesMax = mirror.waitingBytesMax
    const headers = request.copy()
    if (ex.slots !== null) TRACE.get(ex)?.inject(headers)
    const copy = new Exchange(this, method, path, query, authority, headers, requestBody, requestLength, turnStartedAt)
    // A copy waits for no 100: the body comes when the client sends it.
    copy.request.remove('expect')
    // A mirror may lead back here, and its copies would be copied without end.
    copy.request.append('Via', COPY_VIA)
    copy.upstreamHost = ex.upstreamHost
    copy.wantsTrailers = ex.wantsTrailers
    copy.keepsUnderscores = ex.keepsUnderscores
    copy.requestDone = requestBody === BODY_NONE
    copy.route = this.#route(ex.route!, mirror)
    // It may be dropped before it is sent.
    copy.backend = mirror.backend
    this.#ex = copy
  }

  #route(route: Route, mirror: RouteMirror): Route {
    // An object for each copy: only it knows what else ends with the copy. Routes without mirrors make none.
    return {
      ...route,
      requestHooks: null,
      responseHooks: null,
      retry: null,
      mirrors: null,
      isTimed: false,
      keepsRequest: false,
      serve: mirror.serve,
      recorder: { record: (copy) => this.#recorded(copy, mirror) }
    }
  }

  begin(ex: Exchange): void {
    const copy = this.#ex
    const { timers } = this.#options
    const mirror = copy.route!
    copy.step = STEP_SERVE
    copy.timer = new WheelTimer(() => this.#fail('REQUEST_TIMEOUT'))
    timers.arm(copy.timer, turnStartedAt, mirror.settings.requestTimeoutMs || TIMEOUT_MS)
    if (ex.requestBytes !== null) this.#add(ex.requestBytes)
    else if (ex.heldRequest !== null) for (const piece of ex.heldRequest) this.#add(piece)
    if (ex.requestDone) this.#trailers = ex.requestTrailers
    if (!this.#isOver) mirror.serve(copy)
  }

  #recorded(copy: Exchange, mirror: RouteMirror): void {
    mirror.load.copies--
    this.#forget()
    mirror.recorder.record(copy)
  }

  // --- the request, from the exchange that is copied ---

  body(chunk: Buffer, start: number, end: number): void {
    if (this.#isOver) return
    this.#waiting.push(chunk, start, end)
    this.#count(end - start)
    if (this.#flows) this.#flush()
  }

  end(trailers: string): void {
    if (this.#isOver || this.#trailers !== null) return
    this.#trailers = trailers
    if (this.#flows) this.#flush()
  }

  over(): void {
    if (!this.#isOver && this.#trailers === null) this.#options.events.onClientFault(this.#ex, 'CLIENT_GONE')
  }

  get #isOver(): boolean {
    return this.#ex.step === STEP_RECORDED
  }

  #add(piece: Buffer): void {
    if (this.#isOver) return
    this.#waiting.adopt(piece)
    this.#count(piece.length)
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes
    this.#shared.bytes += bytes
    const isRoom = this.#waitingBytes <= this.#bytesMax && this.#shared.bytes <= WAITING_BYTES_MAX
    // Also what the exchange that is copied has still: it may be over before the copy.
    if (!isRoom || !hold(this.#ex, bytes)) this.#fail('UPSTREAM_OVERFLOW')
  }

  #flush(): void {
    const { events } = this.#options
    // A fault on the way empties the list.
    while (this.#flows && !this.#waiting.isEmpty) {
      const piece = this.#waiting.shift()
      this.#waitingBytes -= piece.length
      this.#shared.bytes -= piece.length
      letGo(this.#ex, piece.length)
      this.#flows = events.onRequestBody(this.#ex, piece, 0, piece.length, null)
    }
    if (!this.#flows || this.#trailers === null || this.#ex.requestDone) return
    this.#ex.requestDone = true
    events.onRequestEnd(this.#ex, this.#trailers)
  }

  #forget(): void {
    this.#shared.bytes -= this.#waitingBytes
    this.#waitingBytes = 0
    this.#waiting.drop()
    this.#flows = false
  }

  #fail(code: 'UPSTREAM_OVERFLOW' | 'REQUEST_TIMEOUT'): void {
    inTurn(() => this.#options.events.onClientFault(this.#ex, code))
  }

  // --- what the lifecycle asks of a client ---

  resumeBody(): void {
    this.#flows = true
    this.#flush()
  }

  pauseBody(): void {
    this.#flows = false
  }

  sendBody(): boolean {
    return true
  }

  sendInterim(): void {}

  sendHead(): void {}

  sendEnd(): void {}

  abort(): void {}

  splice(): SpliceEnd {
    throw new Error('a copy asks for no upgrade')
  }
}
