/** A connection of HTTP/1 as its parts know it. */
import type { ClientStream, Exchange } from '#engine/contract/exchange.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import type { HttpServer } from '#engine/downstream/http-server.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Deadline } from './deadline.ts'

interface ConnectionOwner {
  readonly server: HttpServer
  readonly wire: Wire
  readonly tls: ClientTls | null
  readonly deadline: Deadline
  /** HTTP is over on it. */
  readonly closed: boolean
  /** The exchange at hand. */
  readonly ex: Exchange | null
  /** No request is taken behind the one at hand. */
  closeAfterResponse(): void
}

/** To the reader of requests. */
export interface RequestOwner extends ConnectionOwner {
  /** Another request may follow the one at hand. */
  readonly keepAlive: boolean
  /** Writes the responses. */
  readonly client: ClientStream
  /** A head has come, of HTTP/1.`minor`. */
  headArrived(minor: number, keepAlive: boolean): void
  /** `ex` is at hand from now on. */
  begin(ex: Exchange): void
  /** `linger`: the client is still sending, and is heard out for a while. */
  close(linger: boolean): void
  destroy(): void
}

/** To the writer of responses. */
export interface ResponseOwner extends ConnectionOwner {
  /** The response has to say that it is the last one. */
  readonly isLast: boolean
  /** The response of `ex` is written. */
  responseEnded(ex: Exchange): void
  /** It cannot be completed. `isDelimited`: the client notices when a part of it is missing. */
  responseBroken(isDelimited: boolean): void
  /** The connection becomes one end of a byte pipe. */
  splice(ex: Exchange): SpliceEnd
  pauseBody(): void
  resumeBody(): void
}
