/** The socket layer over Node's internal handles (handles.ts): what Weir uses wherever they exist. */
import { createServer, type Server } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { HandleWire, type Shared } from './handle-wire.ts'
import type { Handle, Handles } from './handles.ts'
import { listenWith } from './listen.ts'
import type { ReadMemory } from './memory.ts'
import { Outbox } from './outbox.ts'
import { inTurn } from './round.ts'
import type { Acceptor, Address, Connected, DialOptions, KeepAlive, SocketLayer } from './socket-layer.ts'
import { startClient } from './tls-client.ts'
import { startOverHandle } from './tls-server.ts'
import { newTlsShared } from './tls-shared.ts'
import type { Wire } from './wire.ts'

/** A socket layer over `handles` that reads into `memory`. */
export function handleSockets(handles: Handles, memory: ReadMemory): SocketLayer {
  const shared: Shared = { handles, state: handles.state, memory, spare: null, outbox: new Outbox() }
  const tlsShared = newTlsShared(handles, memory)
  return {
    kind: 'handles',
    listen: (port, keepalive, accept) => listen(port, keepalive, accept, shared),
    connect(address, done, tls = null, dial = {}) {
      const begin: Begin =
        tls === null
          ? (handle) => clear(handle, shared, done, dial)
          : (handle) => startClient(handle, tls, tlsShared, done, dial)
      return connect(address, (code) => done(code, null), begin, dial, handles)
    },
    startTls(wire, first, server, done) {
      const handle = wire instanceof HandleWire ? wire.release() : null
      if (handle !== null) return startOverHandle(handle, first, server, tlsShared, done)
      done('ECONNRESET', null, null)
      return () => {}
    }
  }
}

/** What is set for a listening socket holds for all that it accepts: five system calls less for each. */
const INHERITS = process.platform === 'linux'

interface ServerHandle extends Handle {
  onconnection: (error: number, handle: Handle | undefined) => void
}

async function listen(
  port: number,
  keepalive: KeepAlive,
  accept: (wire: Wire) => void,
  shared: Shared
): Promise<Acceptor> {
  return await listenWith(createServer(), port, (server: Server, taken: () => void) => {
    const handle = (server as unknown as { _handle: ServerHandle })._handle
    if (INHERITS) handle.setNoDelay?.(true)
    let inheritedMs = 0
    handle.onconnection = (error, client) => {
      // Out of descriptors (EMFILE): the kernel keeps the connection queued; the next accept retries.
      if (error !== 0 || client === undefined) return
      taken()
      if (keepalive.timeMs !== inheritedMs) {
        // Changed since: connections accepted from now on have it.
        inheritedMs = INHERITS ? keepalive.timeMs : 0
        for (const one of INHERITS ? [handle, client] : [client]) setKeepAlive(one, { keepaliveMs: keepalive.timeMs })
      }
      const wire = new HandleWire(client, shared, INHERITS)
      wire.ends.learnPeer()
      inTurn(() => {
        accept(wire)
        wire.start()
      })
    }
  })
}

/** Goes on with a connected handle. Returns a function that gives up. */
type Begin = (handle: Handle) => () => void

function clear(handle: Handle, shared: Shared, done: Connected, { preamble = '' }: DialOptions): () => void {
  const wire = new HandleWire(handle, shared)
  // It leaves with what is written next.
  if (preamble !== '') wire.write(preamble)
  done(null, wire)
  wire.start()
  return () => {}
}

function connect(
  address: Address,
  failed: (code: string) => void,
  begin: Begin,
  dial: DialOptions,
  handles: Handles
): () => void {
  let settled = false
  const isUnix = 'unixPath' in address
  const handle = isUnix ? handles.newPipe() : handles.newTcp()
  const request = isUnix ? handles.newPipeConnect() : handles.newTcpConnect()
  let giveUp = () => handle.close()
  const settle = (status: number) => {
    if (settled) return
    settled = true
    inTurn(() => {
      if (status < 0) {
        handle.close()
        failed(getSystemErrorName(status))
      } else {
        setKeepAlive(handle, dial)
        giveUp = begin(handle)
      }
    })
  }
  request.oncomplete = settle
  let error: number
  if (isUnix) error = handle.connect(request, address.unixPath) ?? 0
  else if (address.family === 6) error = handle.connect6!(request, address.ip, address.port)
  else error = handle.connect(request, address.ip, address.port)
  if (error < 0) setImmediate(settle, error)
  return () => {
    settled = true
    const last = giveUp
    giveUp = () => {}
    last()
  }
}

function setKeepAlive(handle: Handle, { keepaliveMs }: DialOptions): void {
  if (keepaliveMs !== undefined) handle.setKeepAlive?.(keepaliveMs > 0, Math.ceil(keepaliveMs / 1000))
}
