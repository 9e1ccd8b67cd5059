/** A bind of the node transport: connections pass its stages (PROXY header, TLS) and become what is spoken on them. */
import type { ClientTls } from '#engine/contract/transport.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { Acceptor, Wire } from '#engine/socket/wire.ts'
import type { OpenConnection } from './crowd.ts'
import { Http1Connection, type Http1Server } from './h1.ts'
import { Http2Connection } from './h2.ts'
import type { DownstreamContext, OpenBind } from './listen.ts'
import { TcpBind } from './tcp-bind.ts'
import { hasTls, TlsPort } from './tls-port.ts'
import { type TlsPlace, TlsStage } from './tls-stage.ts'

/** Rejects with the system's error. `note` is added to the bind's detail. */
export async function openNode(bind: Bind, context: DownstreamContext, note = ''): Promise<OpenBind> {
  const open = new NodeBind(bind, context, note)
  await open.listen()
  return open
}

class NodeBind implements OpenBind {
  readonly transport = 'node'
  readonly detail: string
  port: number
  readonly #context: DownstreamContext
  readonly #server: Http1Server
  readonly #place: TlsPlace
  readonly #tcp: TcpBind
  /** Looked at for every connection, as is #keepalive, so that a reload reaches the next one. Null: clear text. */
  #tls: TlsPort | null
  readonly #keepalive: { timeMs: number }
  #acceptor: Acceptor | null = null

  constructor(bind: Bind, context: DownstreamContext, note: string) {
    const { sockets, frontend, timers, crowd, observer } = context
    const { memory } = context.llhttp
    const closed = () => observer.closed(bind.port, 'node')
    this.#context = context
    this.detail = `${sockets.kind}${note}`
    this.port = bind.port
    this.#server = {
      port: bind.port,
      events: context.events,
      llhttp: context.llhttp,
      timers,
      settings: frontend.http,
      http2: frontend.http2,
      draining: false,
      connections: new Set(),
      closed
    }
    this.#place = {
      port: bind.port,
      memory,
      timers,
      sockets,
      connections: this.#server.connections,
      closed,
      begin: (wire, tls) => this.#speak(wire, tls),
      report: (report) => observer.handshake(report)
    }
    this.#tls = this.#portOf(frontend, bind)
    const http = (wire: Wire) => this.#http(wire)
    const table = context.tcp ?? (() => undefined)
    this.#tcp = new TcpBind({ bind: bind.port, memory, timers, crowd, frontend, table, http, closed })
    this.#keepalive = { timeMs: frontend.tcp.keepalive.timeMs }
  }

  async listen(): Promise<void> {
    const { sockets, observer, crowd } = this.#context
    const bound = this.port
    this.#acceptor = await sockets.listen(bound, this.#keepalive, (wire) => {
      observer.opened(bound, 'node')
      this.#tcp.accept(wire)
    })
    this.port = this.#acceptor.port
    this.#tcp.port = this.port
    crowd.add(this.#server.connections)
  }

  #http(wire: Wire): OpenConnection {
    return this.#tls === null ? this.#speak(wire, null) : new TlsStage(this.#place, this.#tls, wire)
  }

  #speak(wire: Wire, tls: ClientTls | null): OpenConnection {
    const server = this.#server
    return tls?.alpn === 'h2' ? new Http2Connection(server, wire, tls) : new Http1Connection(server, wire, tls)
  }

  #portOf(frontend: FrontendSettings, bind: Bind): TlsPort | null {
    return hasTls(bind) ? new TlsPort(bind, frontend.tls, this.#context.secret, this.#tls ?? null) : null
  }

  prepare(frontend: FrontendSettings, bind: Bind): () => void {
    const tls = this.#portOf(frontend, bind)
    return () => {
      this.#tls = tls
      this.#server.settings = frontend.http
      this.#server.http2 = frontend.http2
      this.#tcp.update(frontend)
      this.#keepalive.timeMs = frontend.tcp.keepalive.timeMs
    }
  }

  stopAccepting(): void {
    this.#acceptor?.close()
    this.#context.crowd.remove(this.#server.connections)
    this.#tcp.stopAccepting()
  }

  drain(): void {
    this.#server.draining = true
    // Behind the poll phase: requests that have already arrived are read first.
    setImmediate(() => {
      enterTurn()
      for (const connection of [...this.#server.connections]) connection.drain()
      leaveTurn()
      this.#tcp.drain()
    })
  }

  connections(): number {
    return this.#server.connections.size + this.#tcp.members.size
  }

  closeAll(): void {
    for (const connection of [...this.#server.connections]) connection.cut()
    this.#tcp.closeAll()
  }
}
