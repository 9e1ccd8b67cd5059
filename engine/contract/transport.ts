/**
 * What the lifecycle asks of the two sides of an exchange, and what they tell it.
 * Body bytes travel as ranges of a Buffer that is only valid during the call (a view of the read
 * buffer): the receiver writes or copies them before it returns, unless the range comes with a
 * ReadSlot, which stays untouched while a write from it is outstanding.
 */
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { PeerCertificate } from '#engine/socket/peer-certificate.ts'

export type { PeerCertificate } from '#engine/socket/peer-certificate.ts'

/** Of the URLs that the client uses. */
export function schemeOf(client: { readonly tls?: ClientTls | null }): 'http' | 'https' {
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
  /** The client's certificate, verified; null: none was asked for or shown, or it was let in with one that is not. */
  readonly peer: PeerCertificate | null
  /** The authorities (PEM) that the listener asked its client for at the handshake; null or absent: none. */
  readonly clientCa?: string | null
  /** A client without a certificate of them would have been let in. */
  readonly allowsUnverified?: boolean
  /** Of the certificate that the listener has shown (principalOf); absent: none is known. */
  readonly localPrincipal?: string
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
