/**
 * The `uws` transport: uWebSockets.js towards clients, as an alternative to http1/. What it cannot do is
 * listed in capabilities.ts (settings) and docs/design/005-uws-transport.md (behaviour).
 */
import type { ClientTls } from '#engine/contract/transport.ts'
import type { TransportCapabilities } from '#engine/contract/transport-capabilities.ts'
import type { BindContext, OpenBind } from '#engine/downstream/bind.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import { inTurn } from '#engine/socket/round.ts'
import { UWS, uwsWith } from './capabilities.ts'
import {
  type HttpRequest,
  type HttpResponse,
  loadUws,
  type TemplatedApp,
  type Uws,
  type us_listen_socket,
  type us_socket
} from './library.ts'
import { hasPemFiles } from './pem-files.ts'
import { type UwsServer, UwsStream } from './stream.ts'
import { isHttps, isSameTls, tlsApp } from './tls.ts'
import { WEBSOCKET_SETTINGS, type WebSocketData } from './websocket.ts'

/** What the transport could not honour of these settings, one clause each; empty: it can serve. */
export function unsupported(
  frontend: FrontendSettings,
  listeners: Bind['listeners'],
  { http, tlsFaults, listenerFaults }: TransportCapabilities = UWS
): string[] {
  const faults: string[] = []
  const refuse = (setting: string, value: string | number, fact: string) =>
    faults.push(`${setting} = ${value}: ${fact}`)
  for (const { key, field, honours, fact } of http) {
    const value = frontend.http[field]
    if (!honours(value)) refuse(key, field.endsWith('Ms') ? `${value}ms` : value, fact)
  }
  const { timeMs } = frontend.tcp.keepalive
  if (timeMs > 0) refuse('tcp.keepalives.time', `${timeMs}ms`, 'it sends no TCP probes')
  if (frontend.proxyProtocol !== null) refuse('proxyProtocol', 'on', 'it reads no PROXY headers')
  if (isHttps(listeners)) for (const { key, value, fact } of tlsFaults(frontend.tls)) refuse(`tls ${key}`, value, fact)
  for (const listener of listeners) {
    const { protocol } = listener
    if (!UWS.protocols!.includes(protocol)) refuse('protocol', protocol, 'it serves HTTP and HTTPS only')
    if (protocol === 'HTTPS') for (const { key, value, fact } of listenerFaults(listener)) refuse(key, value, fact)
  }
  if (isHttps(listeners) && !hasPemFiles())
    refuse('protocol', 'HTTPS', 'it reads certificates from files, which only Linux has without a name')
  return faults
}

/** Rejects when the port cannot be had, or when the settings are beyond the library. `missing`: there is no library. */
export async function openUws(
  bind: Bind,
  context: BindContext,
  load = loadUws
): Promise<OpenBind | { readonly missing: string }> {
  const loaded = await load()
  if ('missing' in loaded) return loaded
  const faults = unsupported(context.frontend, bind.listeners, uwsWith(loaded.headBytesMax))
  if (faults.length > 0) throw new Error(`port ${bind.port}: transport uws cannot serve it: ${faults.join('; ')}`)
  const open = new UwsBind(bind, context, loaded.uws)
  open.listen()
  return open
}

/** One app of the library with its socket; another one takes over when certificates change. */
interface App {
  readonly app: TemplatedApp
  /** Null: it does not listen, not yet or not any more. */
  socket: us_listen_socket | null
  open: number
}

class UwsBind implements OpenBind {
  readonly transport = UWS.name
  readonly detail = 'uWebSockets.js, not to be behind another proxy'
  readonly #uws: Uws
  readonly #context: BindContext
  readonly #server: UwsServer
  readonly #bound: number
  #listeners: Bind['listeners']
  #app: App
  /** With older certificates: their connections go on. */
  #before: App[] = []

  constructor(bind: Bind, context: BindContext, uws: Uws) {
    const { events, timers, frontend } = context
    this.#uws = uws
    this.#context = context
    this.#bound = bind.port
    this.#server = { port: bind.port, events, timers, settings: frontend.http, draining: context.isLeaving === true }
    this.#listeners = bind.listeners
    this.#app = this.#make(bind.listeners)
  }

  get port(): number {
    return this.#server.port
  }

  /** Throws an Error that names the listener whose certificate the library does not take. */
  #make(listeners: Bind['listeners']): App {
    const { observer } = this.#context
    const server = this.#server
    const closed = () => {
      made.open--
      observer.closed(this.#bound, UWS.name)
    }
    const serve = (app: TemplatedApp, tls: ClientTls | null) => {
      serveWebSockets(app, server, tls, closed)
      serveRequests(app, server, tls)
    }
    const hasTls = isHttps(listeners)
    const app = hasTls ? tlsApp(this.#uws, listeners, serve) : this.#uws.App()
    if (!hasTls) serve(app, null)
    const made: App = { app, socket: null, open: 0 }
    const onConnection = (_res: HttpResponse, change: number): void => {
      if (change < 0) closed()
      else {
        made.open++
        observer.opened(this.#bound, UWS.name)
      }
    }
    app.filter(onConnection)
    return made
  }

  listen(): void {
    this.#listen(this.#app)
    this.#server.port = this.#uws.us_socket_local_port(this.#app.socket as us_socket)
  }

  /** On every address, with SO_REUSEPORT: each worker thread, and each app, has its own socket on the port. */
  #listen(made: App): void {
    const { port } = this.#server
    made.app.listen(port, (socket) => {
      made.socket = socket === false ? null : socket
    })
    // The library does not say why; on every system it is nearly always this.
    if (made.socket === null)
      throw Object.assign(new Error(`cannot listen on port ${port}: in use, or not permitted`), { code: 'EADDRINUSE' })
  }

  /** As in socket/listen.ts: what the kernel has accepted is taken first. */
  #stop(made: App): void {
    setImmediate(() => {
      // Closing the socket twice would free it twice: the library checks nothing.
      if (made.socket !== null) this.#uws.us_listen_socket_close(made.socket)
      made.socket = null
    })
  }

  prepare(frontend: FrontendSettings, spec: Bind): () => void {
    const faults = unsupported(frontend, spec.listeners)
    if (faults.length > 0) throw new Error(`port ${spec.port}: transport uws cannot serve it: ${faults.join('; ')}`)
    const isSame = isSameTls(this.#listeners, spec.listeners) || !(isHttps(this.#listeners) || isHttps(spec.listeners))
    // Not removeServerName: it frees what open connections of that name still use.
    const next = isSame ? null : this.#make(spec.listeners)
    return () => {
      this.#server.settings = frontend.http
      if (next === null) return
      this.#listen(next)
      this.#stop(this.#app)
      this.#before = [...this.#before.filter(({ open }) => open > 0), this.#app]
      this.#app = next
      this.#listeners = spec.listeners
    }
  }

  stopAccepting(): void {
    this.#stop(this.#app)
  }

  leave(): void {
    this.#server.draining = true
  }

  /** Idle connections cannot be reached: they end by themselves within the idle timeout of the library. */
  drain(): void {
    this.#server.draining = true
  }

  connections(): number {
    return this.#before.reduce((sum, { open }) => sum + open, this.#app.open)
  }

  closeAll(): void {
    for (const made of [...this.#before, this.#app]) {
      made.socket = null
      made.app.close()
    }
  }
}

function serveRequests(app: TemplatedApp, server: UwsServer, tls: ClientTls | null): void {
  const serve = (res: HttpResponse, req: HttpRequest) => new UwsStream(server, res, tls).begin(req, null)
  app.any('/*', (res, req) => inTurn(serve, res, req))
}

/** `closed`: a connection has ended; one that became a WebSocket is none that the filter tells of. */
function serveWebSockets(app: TemplatedApp, server: UwsServer, tls: ClientTls | null, closed: () => void): void {
  app.ws<WebSocketData>('/*', {
    ...WEBSOCKET_SETTINGS,
    upgrade(res, req, context) {
      const key = req.getHeader('sec-websocket-key')
      inTurn(() => new UwsStream(server, res, tls).begin(req, { key, context }))
    },
    open(ws) {
      ws.getUserData().splice.onOpen(ws)
    },
    message(ws, message, isBinary) {
      inTurn(() => ws.getUserData().splice.onClientMessage(message, isBinary))
    },
    drain(ws) {
      inTurn(() => ws.getUserData().splice.onClientDrain())
    },
    close(ws, code, reason) {
      inTurn(() => ws.getUserData().splice.onClientClose(code, reason))
      closed()
    }
  })
}
