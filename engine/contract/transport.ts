/**
 * What the lifecycle asks of the two sides of an exchange, and what they tell it.
 * Body bytes travel as ranges of a Buffer that is only valid during the call (a view of the read
 * buffer): the receiver writes or copies them before it returns, unless the range comes with a
 * ReadSlot, which stays untouched while a write from it is outstanding.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { PeerCertificate } from '#engine/socket/peer-certificate.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'

export type { PeerCertificate } from '#engine/socket/peer-certificate.ts'

/** The client's side of one exchange. Implemented by every downstream transport. */
export interface ClientStream {
  /** Remote ip, without port. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** Ip that the client has connected to; absent or '' where the transport cannot tell. */
  readonly localAddress?: string
  readonly localPort: number
  /** '1.0', '1.1' or '2'. */
  readonly httpVersion: string
  /** What TLS has found out about the connection; absent or null on clear text. */
  readonly tls?: ClientTls | null
  /** Relays an interim response (100, 103). */
  sendInterim(status: number, headers: HeaderBlock): void
  /** Sends status and headers of ex (ex.status, ex.response, ex.responseBody, ex.responseLength). */
  sendHead(ex: Exchange): void
  /** Sends body bytes. False: stop until lifecycle's onClientWritable is called. */
  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  /** Bytes of the response that wait until the client opens a window for them; absent: there are no windows. */
  readonly unsentBytes?: number
  /** Something that was handed over has not been taken yet; false when nobody will take it. Absent: cannot be told. */
  readonly hasUnsent?: boolean
  /** Ends the response. `trailers`: header lines each ended by CRLF, or '' for none. */
  sendEnd(ex: Exchange, trailers: string): void
  /** The response cannot be completed: break the connection so that the client notices. */
  abort(ex: Exchange): void
  /** Stop and start delivering request body bytes. */
  pauseBody(): void
  resumeBody(): void
  /** After a 101 has been sent: HTTP ends here, the connection becomes one end of a byte pipe. */
  splice(ex: Exchange): SpliceEnd
}

/** Of the URLs that the client uses. */
export function schemeOf(client: Pick<ClientStream, 'tls'>): 'http' | 'https' {
  return client.tls == null ? 'http' : 'https'
}

/** What a finished TLS handshake says of a connection. */
export interface ClientTls {
  /** Name of the listener that its SNI has chosen. */
  readonly listener: string
  /** SNI, lower case; '' when the client sent none. */
  readonly serverName: string
  /** 'TLSv1.2' or 'TLSv1.3'. */
  readonly version: string
  readonly cipher: string
  /** 'h2', 'http/1.1', ... or '' when none was agreed. */
  readonly alpn: string
  /** The client's certificate, verified; null: none was asked for or shown. */
  readonly peer: PeerCertificate | null
  /** The authorities (PEM) that the listener asked its client for at the handshake; null or absent: none. */
  readonly clientCa?: string | null
}

/** One end of two connections whose bytes are passed through unread (after an upgrade). */
export interface SpliceEnd {
  /** Starts passing bytes to `peer`. `closed` is called once, when this end is gone. */
  join(peer: SpliceEnd, closed: () => void): void
  /** Bytes for the connection of this end. False: stop until resume() of the sender is called. */
  send(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  /** No more bytes will come: half-close. */
  finish(): void
  /** Break now. */
  abort(): void
  /** Read on: the other end has room again. */
  resume(): void
  /** Bytes that this end has received. */
  readonly bytes: number
}

/** The upstream side of one attempt. */
export interface ServerStream {
  /** False: stop until lifecycle's onServerWritable is called. */
  sendBody(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  sendEnd(trailers: string): void
  /** Gives the attempt up: the connection is closed, nothing more is delivered. */
  abort(): void
  pauseBody(): void
  resumeBody(): void
  splice(): SpliceEnd
}

/** An attempt that waits for a connection. */
export interface PendingAttempt {
  abort(): void
}

/** What a downstream transport calls. Implemented by engine/lifecycle/lifecycle.ts. */
export interface ClientEvents {
  /** A request head is complete. */
  onRequest(ex: Exchange): void
  /** What arrived is not a request that can be served: reply with `code` and close. */
  onRefused(ex: Exchange, code: ErrorCode): void
  /** Body bytes. False: stop until client.resumeBody() is called. */
  onRequestBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  onRequestEnd(ex: Exchange, trailers: string): void
  onClientWritable(ex: Exchange): void
  /** The client went away, stalled or broke the protocol in its body; `code` says which. */
  onClientFault(ex: Exchange, code: ErrorCode): void
}

/** What the upstream client calls. Implemented by engine/lifecycle/lifecycle.ts. */
export interface ServerEvents {
  /** A connection is there: ex.server is set and takes body bytes from now on. */
  onServerReady(ex: Exchange): void
  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void
  /** ex.status, ex.response, ex.responseBody and ex.responseLength are set. */
  onResponse(ex: Exchange): void
  onResponseBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  onResponseEnd(ex: Exchange, trailers: string): void
  onServerWritable(ex: Exchange): void
  /** The attempt is over without a (whole) response. Retries have been decided before this is called. */
  onServerFault(ex: Exchange, code: ErrorCode): void
}
