/**
 * One stream socket as the engine sees it, whatever carries it: raw libuv handles (handle-wire.ts) or
 * node:net (net-wire.ts). Same contract, same tests (wire.test.ts).
 *
 * Reading: bytes lie in the thread's read memory and are valid during onRead only.
 * Writing: what is written during one round leaves together, when the round ends.
 */
import type { ReadSlot } from './memory.ts'

export interface WireOwner {
  /** Bytes [start, end) of the read memory. `slot` is set when they stay valid for lent writes. */
  onRead(start: number, end: number, slot: ReadSlot | null): void
  /** The peer has finished sending (FIN). */
  onEnd(): void
  /** The wire is dead. Called once; nothing follows. `code`: ECONNRESET, EPIPE, ETIMEDOUT, ... */
  onError(code: string): void
  /** Everything written has been taken by the kernel, after `congested` had been true. */
  onDrain(): void
}

/** The addresses of both ends. */
export interface ConnectionEnds {
  /** Ip, or '' when it is not known. */
  readonly remoteAddress: string
  /** 0 when it is not known. */
  readonly remotePort: number
  /** Own ip of the connection; '' when it is not known. */
  readonly localAddress: string
  /** A proxy has named its client: remoteAddress and remotePort are these from now on. */
  setPeer(address: string, port: number): void
}

export interface Wire {
  owner: WireOwner
  readonly ends: ConnectionEnds
  /** Some written bytes wait for the peer: stop producing until onDrain. */
  readonly congested: boolean
  /** How often something was handed to the kernel: of what is written while it stays the same, nothing has left. */
  readonly handed: number
  /** Bytes that were written and wait for the end of the round. */
  readonly waiting: number
  /** Those bytes as latin1 text, also of a wire that has just died; null when some of them are lost. */
  unsent(): string | null
  /** What is being read: the wire may read bodies into slots of its own. */
  bulk: Bulk
  /** Latin1 text, one byte per character. */
  write(text: string): void
  /** Bytes [start, end) of `chunk`; copied unless they are in `slot`. */
  writeBytes(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void
  pause(): void
  resume(): void
  /** Sends FIN after what was written; the other direction stays open (half-close). */
  finish(): void
  /** Sends what was written, then closes. `linger`: the peer may still be sending, so read and drop it
   *  for a while: closing at once would reset the connection and destroy what we sent (RFC 9112 9.6). */
  close(linger: boolean): void
  /** Closes now; what was not sent is lost. The owner hears nothing more. */
  destroy(): void
  /** As destroy, and the peer sees an error (RST) instead of an end. Over node:net, which sends a FIN of
   *  its own when a write has just been made, the peer may see an end all the same. */
  reset(): void
}

/** No body. */
export const BULK_NONE = 0
/** A body of whatever length: it gets a slot when a long read of it comes. */
export const BULK_BODY = 1
/** More of a body is known to come than one read of the shared buffer can hold. */
export const BULK_LONG = 2
export type Bulk = typeof BULK_NONE | typeof BULK_BODY | typeof BULK_LONG

/** Text leaves before the round ends when it gets this long: only then is it known whether the peer reads. */
export const TEXT_WAITING_MAX = 64 * 1024

/** An owner for wires whose events are ignored. */
export const NO_OWNER: WireOwner = {
  onRead() {},
  onEnd() {},
  onError() {},
  onDrain() {}
}

/** An IPv4 client of a socket that serves both families is named as what it is: 192.0.2.1, not ::ffff:192.0.2.1. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
