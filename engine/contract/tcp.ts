/** Connections whose bytes are passed on unread: what downstream, upstream, build and telemetry agree on. */

import type { Wire } from '#engine/socket/wire.ts'
import type { Background } from './background.ts'
import type { Destination, EndpointOptions, HostGroup } from './endpoint.ts'

/** Why a connection ended otherwise than by both sides: the `reason` in the log and in metrics, and its words. */
export const TCP_REASONS = {
  BAD_PROXY_HEADER: 'the PROXY header is missing or wrong',
  BAD_CLIENT_HELLO: 'no TLS connection begins like this',
  TLS_FAILURE: 'the TLS handshake failed',
  HEAD_TIMEOUT: 'the client did not say in time what it wants',
  NO_SERVER_NAME: 'the client names no server (SNI), and the backend is dynamic',
  LISTENER_NOT_FOUND: 'no listener serves this server name',
  ROUTE_NOT_FOUND: 'no route serves this server name',
  NO_BACKEND: 'the route has no usable backend',
  INVALID_BACKEND: 'the route refers to a backend that cannot be reached',
  ADDRESS_REFUSED: 'the destination address is not allowed',
  LOOP_DETECTED: 'the destination is this gateway itself',
  DNS_FAILURE: 'the name of the backend could not be resolved',
  NO_ENDPOINT: 'the backend has no endpoint at the moment',
  CONNECT_FAILURE: 'the backend refused the connection',
  NO_MESH_CERTIFICATE: 'the backend is part of a mesh, for which this gateway has no certificate at the moment',
  CONNECT_TIMEOUT: 'the backend did not accept the connection in time',
  CLIENT_GONE: 'the client closed the connection before a backend was reached',
  CLIENT_RESET: 'the client broke the connection off',
  UPSTREAM_RESET: 'the backend broke the connection off',
  STALLED: 'one side took nothing for too long',
  IDLE_TIMEOUT: 'nothing was said for too long',
  DRAINING: 'the gateway is shutting down'
} as const

export type TcpReason = keyof typeof TCP_REASONS

/** One connection, from its first byte to its record. Flat: what happens is written into it. */
export class TcpSession {
  /** Milliseconds of performance.now(). */
  readonly startedAt: number
  readonly remoteAddress: string
  readonly remotePort: number
  /** Own ip of the connection, and port of the bind. */
  readonly localAddress: string
  readonly localPort: number
  /** SNI, in lower case; '' without one. */
  serverName = ''
  backend: string | null = null
  /** ip:port or unix:path of the last attempt. */
  endpoint: string | null = null
  attempts = 0
  /** From the client, and to it. */
  bytesReceived = 0
  bytesSent = 0
  /** Null: both sides have ended it. */
  reason: TcpReason | null = null
  /** More words about the reason; '' for none. */
  detail = ''
  /** The endpoint has one connection less. Null before it has this one. */
  release: (() => void) | null = null

  constructor(wire: Wire, localPort: number, startedAt: number) {
    this.startedAt = startedAt
    this.remoteAddress = wire.ends.remoteAddress
    this.remotePort = wire.ends.remotePort
    this.localAddress = wire.ends.localAddress
    this.localPort = localPort
  }
}

/** Called once: a wire, or why there is none. */
export type Dialled = (reason: TcpReason | null, wire: Wire | null) => void

/** One destination of such connections; state of a worker that survives reloads. Made by engine/upstream. */
export interface StreamEndpoint {
  readonly name: string
  /** False while every address of it is ejected by health. */
  readonly usable: boolean
  /** Begun and ended with each configuration that has it: it is forgotten when none has. Absent: clients name it. */
  readonly background?: Background
  /**
   * Connects for `session`, whose `release` is set with the wire. `preamble`: said in clear text before everything
   * else, also before TLS. Returns a function that gives up.
   */
  connect(session: TcpSession, preamble: string, done: Dialled): () => void
}

export interface StreamClient {
  /** The state of a destination, made once and kept over reloads. */
  stream(destination: Destination | HostGroup, options: EndpointOptions): StreamEndpoint
}

/** Where the observability data of such connections goes; called once for each. */
export interface TcpRecorder {
  record(session: TcpSession): void
}

export interface TcpRoute {
  readonly name: string
  readonly recorder: TcpRecorder
  /** Connects to one of the backends. What the configuration wants to be said first (PROXY) has been written. */
  dial(session: TcpSession, done: Dialled): () => void
}

export interface TcpListener {
  readonly name: string
  /** Of connections that got no route. */
  readonly recorder: TcpRecorder
  /** Null: none of its routes has that name. */
  route(serverName: string): TcpRoute | null
}

/** What a configuration says of connections that are no HTTP, by the number of the bind. */
export interface TcpTable {
  /** Null: all of its listeners serve HTTP. */
  find(port: number): TcpPort | null
  /** Of connections that end before a listener is chosen, whatever the bind serves. */
  recorder(port: number): TcpRecorder
  /** Of its endpoints. */
  readonly background: readonly Background[]
}

/** The listeners of one port, as far as they have TCP behind them. */
export interface TcpPort {
  /** By the name in the ClientHello; on a port of plain TCP, '', there is one for all. */
  find(serverName: string): TcpListener | undefined
}
