/**
 * The responses of a connection of HTTP/1: a status line, header lines and a body whose end the client can tell (RFC
 * 9112 section 6.3). One object serves the exchanges of a connection one after the other.
 */
import { BODY_STREAM, type ClientStream, type Exchange } from '#engine/contract/exchange.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import { writeChunk } from '#engine/http/chunked.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent, statusLine } from '#engine/http/status.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { WAIT_CLIENT } from './deadline.ts'
import type { ResponseOwner } from './owner.ts'

export class Http1ResponseWriter implements ClientStream {
  /** HTTP/1.`httpMinor`: the version of the request at hand. */
  httpMinor = 1
  readonly #owner: ResponseOwner
  readonly #wire: Wire
  /** The response goes out in chunks. */
  #chunked = false
  /** The response has no content, whatever is sent. */
  #mute = false

  constructor(owner: ResponseOwner) {
    this.#owner = owner
    this.#wire = owner.wire
  }

  // --- the client ---

  get tls(): ClientTls | null {
    return this.#owner.tls
  }

  get remoteAddress(): string {
    return this.#wire.ends.remoteAddress
  }

  get remotePort(): number {
    return this.#wire.ends.remotePort
  }

  get localAddress(): string {
    return this.#wire.ends.localAddress
  }

  get localPort(): number {
    return this.#owner.server.port
  }

  get hasUnsent(): boolean {
    return !this.#owner.closed && this.#wire.congested
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
    const owner = this.#owner
    const { status } = ex
    const isSwitch = status === 101
    this.#mute = hasNoContent(status, ex.method)
    this.#chunked = false
    let { isLast } = owner
    let head = statusLine(status) + ex.response!.lines()
    if (!this.#mute && ex.responseBody === BODY_STREAM) {
      if (this.httpMinor === 1) {
        this.#chunked = true
        head += 'Transfer-Encoding: chunked\r\n'
      } else isLast = true
    }
    if (isLast) owner.closeAfterResponse()
    if (isSwitch) head += `Connection: upgrade\r\nUpgrade: ${ex.upgrade}\r\n`
    else if (isLast) head += 'Connection: close\r\n'
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
    this.#owner.deadline.wait(WAIT_CLIENT)
    return false
  }

  sendEnd(ex: Exchange, trailers: string): void {
    const owner = this.#owner
    if (ex !== owner.ex) return
    if (this.#chunked) this.#wire.write(`0\r\n${trailers}\r\n`)
    owner.responseEnded(ex)
  }

  // --- instead of a response ---

  abort(ex: Exchange): void {
    // Without a length or chunks an orderly close is how a whole response ends.
    this.#owner.responseBroken(ex.responseBody !== BODY_STREAM || this.#chunked)
  }

  splice(ex: Exchange): SpliceEnd {
    return this.#owner.splice(ex)
  }

  // --- the request's body ---

  pauseBody(): void {
    this.#owner.pauseBody()
  }

  resumeBody(): void {
    this.#owner.resumeBody()
  }
}
