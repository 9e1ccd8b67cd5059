/** A port that serves, whatever its transport, and what a worker lends to it. */
import type { ClientEvents } from '#engine/contract/exchange-events.ts'
import type { TcpTable } from '#engine/contract/tcp.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { ConnectionLimiter } from './connection-limiter.ts'
import type { HandshakeReport } from './tls/handshake.ts'

/** What a worker lends to its binds. */
export interface BindContext {
  readonly events: ClientEvents
  readonly llhttp: Llhttp
  readonly sockets: SocketLayer
  readonly timers: TimerWheel
  readonly frontend: FrontendSettings
  readonly observer: DownstreamObserver
  /** Of the worker, over all binds. */
  readonly limiter: ConnectionLimiter
  /** Of the process, for tickets of TLS: what one worker seals, every other one opens. */
  readonly secret: Uint8Array
  /** Binds with listeners that pass connections on, of the configuration in force. */
  readonly tcp?: () => TcpTable | undefined
  /** The process is about to end. Default: it is not. */
  readonly isLeaving?: boolean
}

/** Observes connections, for metrics. */
export interface DownstreamObserver {
  opened(port: number, transport: string): void
  closed(port: number, transport: string): void
  handshake(report: HandshakeReport): void
}

/** A bind that serves. */
export interface OpenBind {
  readonly port: number
  /** As the configuration calls it. */
  readonly transport: string
  /** For the start-up line: how the transport reaches its sockets. */
  readonly detail: string
  /**
   * New settings for connections from now on, and listeners: they come in force when the function that is returned is
   * called. Throws an Error when the port cannot be served like this.
   */
  prepare(frontend: FrontendSettings, bind: Bind): () => void
  /** The bind is about to drain: responses of HTTP/1 have Connection: close, and requests are still served. */
  leave(): void
  stopAccepting(): void
  /** Ends idle connections soon and announces the end on the others. */
  drain(): void
  connections(): number
  /** Cuts what is left. */
  closeAll(): void
}
