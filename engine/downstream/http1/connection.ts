/**
 * HTTP/1.0 and 1.1 towards clients (RFC 9112): one object per connection, one exchange at a time. It owns the exchange
 * at hand and every end; its parts know it by the interfaces of owner.ts, and not each other:
 *
 *   request-reader.ts    bytes -> request head, body, end; what comes too early waits in pipelined.ts
 *   response-writer.ts   the exchange's client: response head, body, end -> bytes
 *   deadline.ts          whom the connection waits for, and how long
 *
 * The life of a request: onRead() gives the bytes to the reader, which makes the exchange (`ex`) of a complete head and
 * tells the lifecycle of it, then of its body and its end. The lifecycle answers by exchange.client, the writer. With
 * the end of the response `ex` is null again; when the request has ended too, reader.next() waits for another one or
 * closes.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import type { OpenConnection } from '#engine/downstream/connection-limiter.ts'
import type { HttpServer } from '#engine/downstream/http-server.ts'
import { Http2Connection } from '#engine/downstream/http2/connection.ts'
import { PREFACE, PREFACE_UNIQUE_BYTES } from '#engine/http2/protocol.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { PipeEnd } from '#engine/socket/pipe.ts'
import type { Wire, WireOwner } from '#engine/socket/wire.ts'
import { Deadline, WAIT_BODY, WAIT_CLIENT, WAIT_HEAD, WAIT_REQUEST, WAIT_SERVER } from './deadline.ts'
import type { RequestOwner, ResponseOwner } from './owner.ts'
import { Http1RequestReader } from './request-reader.ts'
import { Http1ResponseWriter } from './response-writer.ts'

export class Http1Connection implements WireOwner, OpenConnection, RequestOwner, ResponseOwner {
  readonly server: HttpServer
  readonly wire: Wire
  readonly tls: ClientTls | null
  readonly deadline: Deadline
  readonly client: Http1ResponseWriter
  /** The exchange at hand: from its head, or its refusal, to the end of its response. */
  ex: Exchange | null = null
  /** Another request may follow the one at hand. */
  keepAlive = true
  /** HTTP is over here: the wire is closed, or has another owner. */
  closed = false
  readonly #reader: Http1RequestReader
  /** What the connection has become, after an upgrade. */
  #pipe: PipeEnd | null = null
  /** Bytes so far that may be HTTP/2's preface; -1: it is known that they are not. */
  #sniffed: number

  constructor(server: HttpServer, wire: Wire, tls: ClientTls | null = null) {
    this.server = server
    this.wire = wire
    this.tls = tls
    // On clear text a client may begin to speak HTTP/2 instead (RFC 9113 section 3.3); TLS has agreed on one.
    this.#sniffed = tls === null ? 0 : -1
    this.deadline = new Deadline(server, (waited) => this.#onTimeout(waited))
    this.client = new Http1ResponseWriter(this)
    this.#reader = new Http1RequestReader(this)
    wire.owner = this
    server.connections.add(this)
    this.deadline.wait(WAIT_REQUEST)
    // Taken from the queue of a listener that closes: a silent one must not hold up the end.
    if (server.draining) this.drain()
  }

  /** Something of an exchange is here: closing the connection now would lose it. */
  get #isBusy(): boolean {
    return this.ex !== null || this.#reader.hasBegun || this.#reader.pipelined.bytes !== null
  }

  // --- from one request to the next ---

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    if (this.#sniffed >= 0 && this.#sniff(start, end, slot)) return
    const reader = this.#reader
    if (reader.mustWait) reader.keep(start, end)
    else reader.parse(start, end, slot)
  }

  /** True: the bytes are not for HTTP/1, or too few to tell. */
  #sniff(start: number, end: number, slot: ReadSlot | null): boolean {
    const { bytes, scratch } = this.server.llhttp.memory
    const kept = this.#sniffed
    let matched = kept
    let at = start
    while (at < end && matched < PREFACE_UNIQUE_BYTES && bytes[at] === PREFACE.charCodeAt(matched)) {
      at++
      matched++
    }
    this.#sniffed = matched === PREFACE_UNIQUE_BYTES || at < end ? -1 : matched
    if (matched === PREFACE_UNIQUE_BYTES) {
      this.closed = true
      this.deadline.end()
      this.server.connections.delete(this)
      new Http2Connection(this.server, this.wire, null, kept).onRead(start, end, slot)
    } else if (at === end) this.deadline.wait(WAIT_HEAD)
    else {
      if (kept > 0) this.#reader.parse(scratch, scratch + bytes.latin1Write(PREFACE.slice(0, kept), scratch), null)
      return false
    }
    return true
  }

  headArrived(minor: number, keepAlive: boolean): void {
    this.client.httpMinor = minor
    this.keepAlive = keepAlive
  }

  begin(ex: Exchange): void {
    this.ex = ex
  }

  get isLast(): boolean {
    const { draining, leaving } = this.server
    return !this.keepAlive || draining || leaving || this.#reader.isRemainderLong
  }

  closeAfterResponse(): void {
    this.keepAlive = false
  }

  responseEnded(ex: Exchange): void {
    const reader = this.#reader
    this.ex = null
    this.deadline.hasServed = true
    // A hook was overtaken and still holds the request: the next one must not fill its headers.
    if (ex.waiting) reader.renewBlock()
    if (reader.parsing) return // parse() goes on from here
    if (reader.requestDone) reader.next()
    else reader.discardRemainder()
  }

  responseBroken(isDelimited: boolean): void {
    this.ex = null
    if (isDelimited) this.close(false)
    else this.#reset()
  }

  pauseBody(): void {
    this.#reader.pauseBody()
  }

  resumeBody(): void {
    this.#reader.resumeBody()
  }

  /** The wire has taken what was written. */
  onDrain(): void {
    const { ex } = this
    const reader = this.#reader
    if (ex === null) {
      if (!reader.hasBegun) reader.next()
      return
    }
    if (this.deadline.waiting === WAIT_CLIENT) reader.waitForBody()
    this.server.events.onClientWritable(ex)
  }

  // --- ends that others cause ---

  onEnd(): void {
    const { ex } = this
    this.keepAlive = false
    // A FIN while a response is pending means that the client has gone (docs/design/004-client-fin.md).
    if (ex !== null) this.#gone(ex)
    else if (!this.closed) this.close(false)
  }

  onError(_code: string): void {
    const { ex } = this
    if (ex !== null) this.#gone(ex)
    else this.#leave()
  }

  #gone(ex: Exchange): void {
    this.ex = null
    this.destroy()
    this.server.events.onClientFault(ex, 'CLIENT_GONE')
  }

  /** The deadline has passed. */
  #onTimeout(waited: number): void {
    const { ex } = this
    const { events } = this.server
    if (waited === WAIT_HEAD) this.#reader.refuse('HEAD_TIMEOUT')
    else if (waited === WAIT_BODY && ex !== null) {
      this.keepAlive = false
      events.onClientFault(ex, 'BODY_TIMEOUT')
    } else if (waited === WAIT_SERVER && ex !== null) {
      this.keepAlive = false
      events.onClientFault(ex, 'UPSTREAM_TIMEOUT')
    } else if (ex !== null) this.#gone(ex)
    else if (waited === WAIT_REQUEST) this.close(false)
    else this.destroy()
  }

  /** The bind drains: the next response says so; without a request the connection ends soon. */
  drain(): void {
    if (!this.closed && !this.#isBusy) this.deadline.waitForLast()
  }

  /** There are too many connections: closes this one if nothing is under way, and says whether it did. */
  closeIfIdle(): boolean {
    if (this.closed || this.#isBusy) return false
    this.close(false)
    return true
  }

  /** The time for draining is over. */
  forceClose(): void {
    const { ex } = this
    if (ex !== null) this.#gone(ex)
    else if (this.#pipe !== null) this.#pipe.cut()
    else this.destroy()
  }

  // --- the end ---

  /** In order: what was written leaves first. */
  close(linger: boolean): void {
    if (this.closed) return
    this.#leave()
    this.wire.close(linger)
  }

  /** So that the client notices that something is missing. */
  #reset(): void {
    if (this.closed) return
    this.#leave()
    this.wire.reset()
  }

  destroy(): void {
    if (this.closed) return
    this.#leave()
    this.wire.destroy()
  }

  /** The end of HTTP, not of the connection: its bytes go through unread (RFC 9110 section 7.8). */
  splice(ex: Exchange): SpliceEnd {
    ex.responseDone = true
    this.ex = null
    this.#letGo()
    // It stays one of the bind's connections: a drain waits for it, and a cut reaches it.
    const end = new PipeEnd(this.wire, this.server.llhttp.memory.bytes, () => this.#forget())
    this.#pipe = end
    const { bytes } = this.#reader.pipelined
    if (bytes !== null) end.keep(bytes)
    return end
  }

  /** Forgets the connection: its socket is closed. */
  #leave(): void {
    if (this.closed) return
    this.#letGo()
    this.#forget()
  }

  #letGo(): void {
    this.closed = true
    this.#reader.release()
    this.deadline.end()
  }

  #forget(): void {
    this.server.connections.delete(this)
    this.server.closed()
  }
}
