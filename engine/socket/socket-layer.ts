/** How a thread listens and connects, over Node's internal handles (handle-sockets.ts) or node:net (net-sockets.ts). */
import type { TlsClient } from './tls.ts'
import type { TlsDone, TlsServer } from './tls-server.ts'
import type { Wire } from './wire.ts'

/** A listening socket. */
export interface Acceptor {
  readonly port: number
  /** Takes what waits in the kernel's queue, then closes. */
  close(): void
}

export interface KeepAlive {
  /** Idle time before the first probe; 0: no probes. */
  readonly timeMs: number
}

/** Where to connect: an address literal with port, or a unix socket. */
export type Address =
  | { readonly ip: string; readonly port: number; readonly family: 4 | 6 }
  | { readonly unixPath: string }

/** A connected wire, or an error code. `tls`: of connections that are meant to be secure. */
export type Connected = (code: string | null, wire: Wire | null, tls?: TlsOutcome) => void

/** What came of a handshake. */
export interface TlsOutcome {
  /** What ALPN has agreed on; '' for nothing. */
  readonly protocol: string
  readonly resumed: boolean
  /** Why it failed, for logs; '' when it did not. */
  readonly reason: string
}

export interface DialOptions {
  /** Idle time before TCP probes; 0: none; undefined: as the system does. */
  readonly keepaliveMs?: number
  /** What the connection begins with, before TLS: one character per byte, a few hundred at most. Default: nothing. */
  readonly preamble?: string
  /** Called when the peer has answered and TLS begins: it is not the address that is slow. */
  readonly reached?: () => void
}

export interface SocketLayer {
  /** Named in the start-up line and in docs: 'handles' or 'net'. */
  readonly kind: 'handles' | 'net'
  /** Listens with SO_REUSEPORT on every address of the host. Rejects with the system's error. */
  listen(port: number, keepalive: KeepAlive, accept: (wire: Wire) => void): Promise<Acceptor>
  /** Calls back once. Returns a function that gives up. */
  connect(address: Address, done: Connected, tls?: TlsClient | null, dial?: DialOptions): () => void
  /**
   * TLS as its server over a wire of this layer, on which nothing has been written: `first` are the bytes that have
   * been read. The wire is not to be used any more. Calls back once; returns a function that gives up.
   */
  startTls(wire: Wire, first: Buffer, server: TlsServer, done: TlsDone): () => void
}
