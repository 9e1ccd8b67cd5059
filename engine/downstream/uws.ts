/**
 * The `uws` transport: uWebSockets.js towards clients, as an alternative to h1.ts. What it cannot do is
 * listed in engine/http/limits.ts (settings) and docs/design/005-uws-transport.md (behaviour).
 */
import { beyondUws } from '#engine/http/limits.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { DownstreamContext, OpenBind } from './listen.ts'
import type { HttpResponse, LoadedUws, TemplatedApp, Uws, us_listen_socket, us_socket } from './uws-library.ts'
import { type UwsServer, UwsStream } from './uws-stream.ts'
import { WEBSOCKET_SETTINGS, type WebSocketData } from './uws-websocket.ts'

/**
 * What uws could not honour of these settings, one clause each; empty when it can serve.
 * `loaded`: the library, whose limit on heads was decided when it was loaded.
 */
export function unsupported(
  frontend: FrontendSettings,
  listeners: Bind['listeners'],
  loaded?: { readonly headBytesMax: number }
): string[] {
  return beyondUws(frontend, listeners, loaded?.headBytesMax)
}

/** Rejects when the port cannot be had, or when the settings are beyond the library. */
export async function openUws(
  bind: Bind,
  context: DownstreamContext,
  loaded: Exclude<LoadedUws, { readonly missing: string }>
): Promise<OpenBind> {
  const faults = unsupported(context.frontend, bind.listeners, loaded)
  if (faults.length > 0) throw new Error(`port ${bind.port}: transport uws cannot serve it: ${faults.join('; ')}`)
  const { uws } = loaded
  const { observer } = context
  let open = 0
  const closed = () => {
    open--
    observer.closed(bind.port, 'uws')
  }
  const server: UwsServer = {
    port: bind.port,
    events: context.events,
    timers: context.timers,
    settings: context.frontend.http,
    draining: false
  }
  const app = uws.App()
  const onConnection = (_res: HttpResponse, change: number) => {
    if (change < 0) closed()
    else {
      open++
      observer.opened(bind.port, 'uws')
    }
  }
  app.filter(onConnection)
  serveWebSockets(app, server, closed)
  serveRequests(app, server)
  const socket = await listen(app, bind.port)
  server.port = uws.us_socket_local_port(socket as us_socket)
  return openBind(app, uws, socket, server, () => open)
}

function serveRequests(app: TemplatedApp, server: UwsServer): void {
  app.any('/*', (res, req) => {
    enterTurn()
    new UwsStream(server, res).begin(req, null)
    leaveTurn()
  })
}

/** `closed`: a connection has ended; one that became a WebSocket is none that the filter tells of. */
function serveWebSockets(app: TemplatedApp, server: UwsServer, closed: () => void): void {
  app.ws<WebSocketData>('/*', {
    ...WEBSOCKET_SETTINGS,
    upgrade(res, req, context) {
      enterTurn()
      new UwsStream(server, res).begin(req, { key: req.getHeader('sec-websocket-key'), context })
      leaveTurn()
    },
    open(ws) {
      ws.getUserData().splice.onOpen(ws)
    },
    message(ws, message, isBinary) {
      enterTurn()
      ws.getUserData().splice.onClientMessage(message, isBinary)
      leaveTurn()
    },
    drain(ws) {
      enterTurn()
      ws.getUserData().splice.onClientDrain()
      leaveTurn()
    },
    close(ws, code, reason) {
      enterTurn()
      ws.getUserData().splice.onClientClose(code, reason)
      leaveTurn()
      closed()
    }
  })
}

/** Listens on every address, with SO_REUSEPORT: each worker thread has its own socket on the port. */
function listen(app: TemplatedApp, port: number): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen(port, (socket) => {
      // The library does not say why; on every system it is nearly always this.
      if (socket === false) {
        reject(
          Object.assign(new Error(`cannot listen on port ${port}: in use, or not permitted`), { code: 'EADDRINUSE' })
        )
      } else resolve(socket)
    })
  })
}

function openBind(
  app: TemplatedApp,
  uws: Uws,
  socket: us_listen_socket,
  server: UwsServer,
  connections: () => number
): OpenBind {
  // Closing the socket twice would free it twice: the library checks nothing.
  let isListening = true
  const stopListening = () => {
    if (isListening) uws.us_listen_socket_close(socket)
    isListening = false
  }
  return {
    port: server.port,
    transport: 'uws',
    detail: 'uWebSockets.js',
    prepare(next, spec) {
      const faults = unsupported(next, spec.listeners)
      if (faults.length > 0) throw new Error(`port ${spec.port}: transport uws cannot serve it: ${faults.join('; ')}`)
      return () => {
        server.settings = next.http
      }
    },
    // As in socket/listen.ts: what the kernel has accepted is taken first.
    stopAccepting: () => setImmediate(stopListening),
    drain() {
      // Idle connections cannot be reached: they end by themselves within UWS.idleTimeoutMs.
      server.draining = true
    },
    connections,
    closeAll() {
      isListening = false
      app.close()
    }
  }
}
