/**
 * The answering side of a connection of HTTP/1: what the lifecycle writes to goes out as a status line, header lines
 * and a body whose end the client can tell (RFC 9112 section 6.3). One object serves the connection's exchanges one
 * after the other.
 */
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import type { ClientStream, ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { writeChunk } from '#engine/http/chunked.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent, statusLine } from '#engine/http/status.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Http1Connection } from './connection.ts'
import { WAIT_CLIENT } from './deadline.ts'

export class Http1ResponseWriter implements ClientStream {
  /** HTTP/1.`httpMinor`: the version of the request at hand. */
  httpMinor = 1
  readonly #connection: Http1Connection
  readonly #wire: Wire
  /** The response goes out in chunks. */
  #chunked = false
  /** The response has no content, whatever is sent. */
  #mute = false

  constructor(connection: Http1Connection) {
    this.#connection = connection
    this.#wire = connection.wire
  }

  // --- who asks ---

  get tls(): ClientTls | null {
    return this.#connection.tls
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
    return this.#connection.server.port
  }

  get hasUnsent(): boolean {
    return !this.#connection.closed && this.#wire.congested
  }

  get httpVersion(): string {
    return this.httpMinor === 0 ? '1.0' : '1.1'
  }

  // --- the response, in the order in which it leaves ---

  sendInterim(status: number, headers: HeaderBlock): void {
    if (this.httpMinor === 0) return
    this.#wire.write(`${statusLine(status)}${headers.lines()}\r\n`)
  }

  sendHead(ex: Exchange): void {
    const connection = this.#connection
    const { status } = ex
    const isSwitch = status === 101
    this.#mute = hasNoContent(status, ex.method)
    this.#chunked = false
    const isLast = connection.server.draining || connection.server.leaving || connection.reading.isRestLong
    if (isLast) connection.keepAlive = false
    let head = statusLine(status) + ex.response!.lines()
    if (!this.#mute && ex.responseBody === BODY_STREAM) {
      if (this.httpMinor === 1) {
        this.#chunked = true
        head += 'Transfer-Encoding: chunked\r\n'
      } else connection.keepAlive = false
    }
    if (isSwitch) head += `Connection: upgrade\r\nUpgrade: ${ex.upgrade}\r\n`
    else if (!connection.keepAlive) head += 'Connection: close\r\n'
    else if (this.httpMinor === 0) head += 'Connection: keep-alive\r\n'
    this.#wire.write(`${head}\r\n`)
  }

  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#mute || start === end) return true
    ex.bytesSent += end - start
    const wire = this.#wire
    if (this.#chunked) writeChunk(wire, chunk, start, end, slot)
    else wire.writeBytes(chunk, start, end, slot)
    if (!wire.congested) return true
    this.#connection.deadline.wait(WAIT_CLIENT)
    return false
  }

  sendEnd(ex: Exchange, trailers: string): void {
    const connection = this.#connection
    if (ex !== connection.ex) return
    if (this.#chunked) this.#wire.write(`0\r\n${trailers}\r\n`)
    connection.ex = null
    connection.deadline.hasServed = true
    const { reading } = connection
    // A hook was overtaken and still holds the request: the next one must not fill its headers.
    if (ex.waiting) reading.renewBlock()
    if (reading.parsing) return // parse() goes on from here
    if (reading.requestDone) reading.next()
    else reading.dropRest()
  }

  // --- instead of a response ---

  abort(ex: Exchange): void {
    const connection = this.#connection
    connection.ex = null
    // Here an orderly close is how a whole response ends: only a reset says that this one is not.
    if (ex.responseBody === BODY_STREAM && !this.#chunked) connection.reset()
    else connection.close(false)
  }

  splice(ex: Exchange): SpliceEnd {
    return this.#connection.splice(ex)
  }

  // --- the request's body ---

  pauseBody(): void {
    this.#connection.reading.pauseBody()
  }

  resumeBody(): void {
    this.#connection.reading.resumeBody()
  }
}
