/** Opens the socket of a bind and puts the right transport behind it. */
import type { ClientEvents, ClientTls } from '#engine/contract/transport.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import type { TimerWheel } from '#engine/kit/timer-wheel.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { SocketLayer, Wire } from '#engine/socket/wire.ts'
import type { Crowd, OpenConnection } from './crowd.ts'
import { Http1Connection, type Http1Server } from './h1.ts'
import { Http2Connection } from './h2.ts'
import { hasTls, TlsPort } from './tls-port.ts'
import { type HandshakeReport, type TlsPlace, TlsStage } from './tls-stage.ts'
import { openUws } from './uws.ts'
import { loadUws } from './uws-library.ts'

/** What a worker lends to its binds. */
export interface DownstreamContext {
  readonly events: ClientEvents
  readonly llhttp: Llhttp
  readonly sockets: SocketLayer
  readonly timers: TimerWheel
  readonly frontend: FrontendSettings
  readonly observer: DownstreamObserver
  /** Of the worker, over all binds. */
  readonly crowd: Crowd
  /** Of the process, for tickets of TLS: what one worker seals, every other one opens. */
  readonly secret: Uint8Array
}

/** Told about connections, for metrics. */
export interface DownstreamObserver {
  opened(port: number, transport: string): void
  closed(port: number, transport: string): void
  handshake(report: HandshakeReport): void
}

/** A bind that serves. */
export interface OpenBind {
  readonly port: number
  readonly transport: 'node' | 'uws'
  /** For the start-up line: how the transport reaches its sockets. */
  readonly detail: string
  /**
   * New settings for connections from now on, and listeners: they come in force when the function that is returned is
   * called. Throws an Error when the port cannot be served like this.
   */
  prepare(frontend: FrontendSettings, bind: Bind): () => void
  stopAccepting(): void
  /** Closes idle connections and announces the end on the others. */
  drain(): void
  connections(): number
  /** Cuts what is left. */
  closeAll(): void
}

/**
 * 'auto' and 'node' are the node transport: for clear-text HTTP it is measured faster
 * (docs/performance.md). 'uws' forces uWebSockets.js; where it has no binary the node transport serves,
 * and `detail` says why. Rejects with the system's error (EADDRINUSE, EACCES) when the port cannot be
 * had, and when 'uws' cannot honour the settings. `load`: for tests.
 */
export async function openBind(bind: Bind, context: DownstreamContext, load = loadUws): Promise<OpenBind> {
  if (bind.transport !== 'uws') return await openNode(bind, context)
  const loaded = await load()
  if ('uws' in loaded) return await openUws(bind, context, loaded)
  const open = await openNode(bind, context)
  return { ...open, detail: `${open.detail}; uws is not available: ${loaded.missing}` }
}

async function openNode(bind: Bind, context: DownstreamContext): Promise<OpenBind> {
  const { sockets, observer, frontend, crowd } = context
  const server: Http1Server = {
    port: bind.port,
    events: context.events,
    llhttp: context.llhttp,
    timers: context.timers,
    settings: frontend.http,
    http2: frontend.http2,
    draining: false,
    connections: new Set(),
    closed: () => observer.closed(bind.port, 'node')
  }
  const place: TlsPlace = {
    port: bind.port,
    memory: context.llhttp.memory,
    timers: context.timers,
    sockets,
    connections: server.connections,
    closed: server.closed,
    begin: (wire, tls) => speak(server, wire, tls),
    report: (report) => observer.handshake(report)
  }
  const portOf = (from: FrontendSettings, of: Bind, before: TlsPort | null): TlsPort | null =>
    hasTls(of) ? new TlsPort(of, from.tls, context.secret, before) : null
  let tls = portOf(frontend, bind, null)
  // Looked at for every connection, so that a reload reaches the next one.
  const keepalive = { timeMs: frontend.tcp.keepalive.timeMs }
  const acceptor = await sockets.listen(bind.port, keepalive, (wire) => {
    observer.opened(bind.port, 'node')
    crowd.joined(tls === null ? speak(server, wire, null) : new TlsStage(place, tls, wire))
  })
  crowd.add(server.connections)
  return {
    port: acceptor.port,
    transport: 'node',
    detail: sockets.kind,
    prepare(next, spec) {
      const nextTls = portOf(next, spec, tls)
      return () => {
        tls = nextTls
        server.settings = next.http
        server.http2 = next.http2
        keepalive.timeMs = next.tcp.keepalive.timeMs
      }
    },
    stopAccepting() {
      acceptor.close()
      crowd.remove(server.connections)
    },
    drain() {
      server.draining = true
      // Behind the poll phase: requests that have already arrived are read first.
      setImmediate(() => {
        enterTurn()
        for (const connection of [...server.connections]) connection.drain()
        leaveTurn()
      })
    },
    connections: () => server.connections.size,
    closeAll() {
      for (const connection of [...server.connections]) connection.cut()
    }
  }
}

/** The connection of what is spoken over the wire. */
function speak(server: Http1Server, wire: Wire, tls: ClientTls | null): OpenConnection {
  return tls?.alpn === 'h2' ? new Http2Connection(server, wire, tls) : new Http1Connection(server, wire, tls)
}
