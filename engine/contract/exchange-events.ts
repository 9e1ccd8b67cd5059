/** What the two sides of an exchange tell its lifecycle. Bytes: see transport.ts. */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'

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
