/** What a bind does with a new connection before HTTP or TCP has it: PROXY header, ClientHello, handshake. */
import type { ClientTls } from '#engine/contract/transport.ts'
import type { FrontendSettings } from '#engine/ir/frontend.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { BindContext } from './bind.ts'
import type { OpenConnection } from './connection-limiter.ts'
import { ProxyStage } from './proxy-protocol-stage.ts'
import { passOn } from './tcp/tcp.ts'
import { type ClientHelloContext, ClientHelloStage } from './tls/client-hello-stage.ts'
import type { HandshakeReport } from './tls/handshake.ts'
import type { TlsPort } from './tls/port.ts'

/** Envoy's default too (TcpProxy.idle_timeout); dead peers are found by TCP's own probes long before. */
export const TCP_IDLE_TIMEOUT_MS = 3_600_000

export interface ConnectionSetupOptions {
  /** Number of the bind in the configuration. */
  readonly bind: number
  readonly context: BindContext
  /** Of the bind, whatever they speak. */
  readonly connections: Set<OpenConnection>
  /** Makes the connection of HTTP; null: clear text. */
  readonly startHttp: (wire: Wire, tls: ClientTls | null) => OpenConnection
  readonly closed: () => void
}

export class ConnectionSetup implements ClientHelloContext {
  readonly bind: number
  /** As clients know it; set when the socket is open. */
  port: number
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  readonly sockets: SocketLayer
  readonly connections: Set<OpenConnection>
  tcpIdleTimeoutMs = TCP_IDLE_TIMEOUT_MS
  readonly #parts: ConnectionSetupOptions
  /** Looked at for every connection, so that a reload reaches the next one. */
  #proxy: FrontendSettings['proxyProtocol'] = null
  /** Null: no TLS. */
  #tls: TlsPort | null = null

  constructor(parts: ConnectionSetupOptions) {
    const { bind, context, connections } = parts
    this.#parts = parts
    this.bind = bind
    this.port = bind
    this.memory = context.llhttp.memory
    this.timers = context.timers
    this.sockets = context.sockets
    this.connections = connections
  }

  get tls(): TlsPort | null {
    return this.#tls
  }

  update(frontend: FrontendSettings, tls: TlsPort | null): void {
    this.#proxy = frontend.proxyProtocol
    this.#tls = tls
    this.tcpIdleTimeoutMs = frontend.tcp.idleTimeoutMs ?? TCP_IDLE_TIMEOUT_MS
  }

  recorder() {
    return this.#parts.context.tcp?.()?.recorder(this.bind) ?? null
  }

  report(report: HandshakeReport): void {
    this.#parts.context.observer.handshake(report)
  }

  closed(): void {
    this.#parts.closed()
  }

  startHttp(wire: Wire, tls: ClientTls): void {
    this.#parts.startHttp(wire, tls)
  }

  accept(wire: Wire): void {
    if (this.#proxy === null) this.#begin(wire)
    else this.#joined(new ProxyStage(this, wire, this.#proxy, (behind) => this.#begin(behind)))
  }

  /** What comes now is the client's. */
  #begin(wire: Wire): void {
    const { context, startHttp } = this.#parts
    const tcp = context.tcp?.()?.find(this.bind) ?? null
    if (this.#tls !== null) this.#joined(new ClientHelloStage(this, wire, this.#tls, tcp))
    else if (tcp === null) this.#joined(startHttp(wire, null))
    else {
      const connection = passOn(this, wire, tcp, '', turnStartedAt)
      if (connection === null) return
      this.#joined(connection)
      connection.start()
    }
  }

  #joined(connection: OpenConnection): void {
    this.#parts.context.limiter.admit(connection)
  }
}
