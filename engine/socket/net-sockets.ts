/** The socket layer over node:net's public API: the fallback where the internal handles are missing. */
import { createServer, connect as netConnect } from 'node:net'
import { listenWith } from './listen.ts'
import type { ReadMemory } from './memory.ts'
import { connectTls } from './net-tls.ts'
import { NetWire } from './net-wire.ts'
import { inTurn } from './round.ts'
import type { Address, Connected, DialOptions, KeepAlive, SocketLayer } from './socket-layer.ts'
import type { TlsClient } from './tls.ts'
import { startOverSocket } from './tls-server.ts'
import type { Wire } from './wire.ts'

/** A socket layer over node:net that copies what it reads into `memory`. */
export function netSockets(memory: ReadMemory): SocketLayer {
  return {
    kind: 'net',
    listen(port: number, keepalive: KeepAlive, accept: (wire: Wire) => void) {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        if (keepalive.timeMs > 0) socket.setKeepAlive(true, keepalive.timeMs)
        inTurn(() => accept(new NetWire(socket, memory)))
      })
      return listenWith(server, port, (_, taken) => server.on('connection', taken))
    },
    connect(address: Address, done: Connected, tls: TlsClient | null = null, dial: DialOptions = {}) {
      if (tls !== null) return connectTls(tls, memory, address, done, dial)
      const where = 'unixPath' in address ? { path: address.unixPath } : { host: address.ip, port: address.port }
      const socket = netConnect({ ...where, allowHalfOpen: true })
      if (dial.keepaliveMs !== undefined) socket.setKeepAlive(dial.keepaliveMs > 0, dial.keepaliveMs)
      const failed = ({ code = 'EIO' }: NodeJS.ErrnoException) => inTurn(() => done(code, null))
      socket.once('error', failed)
      socket.once('connect', () => {
        socket.off('error', failed)
        inTurn(() => {
          const wire = new NetWire(socket, memory)
          if (dial.preamble !== undefined && dial.preamble !== '') wire.write(dial.preamble)
          done(null, wire)
        })
      })
      return () => {
        socket.off('error', failed)
        // A late failure of an abandoned attempt is ignored.
        socket.on('error', () => {})
        socket.destroy()
      }
    },
    startTls(wire, first, server, done) {
      const socket = wire instanceof NetWire ? wire.release() : null
      if (socket !== null) return startOverSocket(socket, first, server, (over) => new NetWire(over, memory), done)
      done('ECONNRESET', null, null)
      return () => {}
    }
  }
}
