/** A bind of the node transport: connections pass its stages (PROXY header, TLS) and become what is spoken on them. */
import type { ClientTls } from '#engine/contract/transport.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { Acceptor } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { BindContext, OpenBind } from './bind.ts'
import type { OpenConnection } from './connection-limiter.ts'
import { ConnectionSetup } from './connection-setup.ts'
import type { HttpServer } from './http-server.ts'
import { Http1Connection } from './http1/connection.ts'
import { Http2Connection } from './http2/connection.ts'
import { hasTls, TlsPort } from './tls/port.ts'

/** Rejects with the system's error. `note` is added to the bind's detail. */
export async function openNode(bind: Bind, context: BindContext, note = ''): Promise<OpenBind> {
  const open = new NodeBind(bind, context, note)
  await open.listen()
  return open
}

class NodeBind implements OpenBind {
  readonly transport = 'node'
  readonly detail: string
  port: number
  readonly #context: BindContext
  readonly #server: HttpServer
  readonly #setup: ConnectionSetup
  /** Looked at for every connection, so that a reload reaches the next one. */
  readonly #keepalive: { timeMs: number }
  #acceptor: Acceptor | null = null

  constructor(bind: Bind, context: BindContext, note: string) {
    const { sockets, frontend, timers, observer } = context
    const closed = () => observer.closed(bind.port, 'node')
    this.#context = context
    this.detail = `${sockets.kind}${note}`
    this.port = bind.port
    const connections = new Set<OpenConnection>()
    this.#server = {
      port: bind.port,
      events: context.events,
      llhttp: context.llhttp,
      timers,
      settings: frontend.http,
      http2: frontend.http2,
      draining: false,
      leaving: context.isLeaving === true,
      connections,
      closed
    }
    const startHttp = (wire: Wire, tls: ClientTls | null) => this.#startHttp(wire, tls)
    this.#setup = new ConnectionSetup({ bind: bind.port, context, connections, startHttp, closed })
    this.#setup.update(frontend, this.#portOf(frontend, bind))
    this.#keepalive = { timeMs: frontend.tcp.keepalive.timeMs }
  }

  async listen(): Promise<void> {
    const { sockets, observer, limiter } = this.#context
    const bound = this.port
    this.#acceptor = await sockets.listen(bound, this.#keepalive, (wire) => {
      observer.opened(bound, 'node')
      this.#setup.accept(wire)
    })
    this.port = this.#acceptor.port
    this.#setup.port = this.port
    limiter.add(this.#server.connections)
  }

  #startHttp(wire: Wire, tls: ClientTls | null): OpenConnection {
    const server = this.#server
    return tls?.alpn === 'h2' ? new Http2Connection(server, wire, tls) : new Http1Connection(server, wire, tls)
  }

  #portOf(frontend: FrontendSettings, bind: Bind): TlsPort | null {
    return hasTls(bind) ? new TlsPort(bind, frontend.tls, this.#context.secret, this.#setup.tls) : null
  }

  prepare(frontend: FrontendSettings, bind: Bind): () => void {
    const tls = this.#portOf(frontend, bind)
    return () => {
      this.#server.settings = frontend.http
      this.#server.http2 = frontend.http2
      this.#setup.update(frontend, tls)
      this.#keepalive.timeMs = frontend.tcp.keepalive.timeMs
    }
  }

  stopAccepting(): void {
    this.#acceptor?.close()
    this.#context.limiter.remove(this.#server.connections)
  }

  leave(): void {
    this.#server.leaving = true
  }

  drain(): void {
    this.#server.draining = true
    // Behind the poll phase: requests that have already arrived are read first.
    const step = () => {
      for (const connection of [...this.#server.connections]) connection.drain()
    }
    setImmediate(() => inTurn(step))
  }

  connections(): number {
    return this.#server.connections.size
  }

  closeAll(): void {
    for (const connection of [...this.#server.connections]) connection.forceClose()
  }
}
