/** Listening, the same for both socket layers. */
import type { Server } from 'node:net'
import type { Acceptor } from './wire.ts'

/** Connections that may wait in the kernel's accept queue. */
const BACKLOG = 4096

/**
 * Listens with SO_REUSEPORT (each worker thread has its own socket on the port) on all addresses of
 * both families, or of IPv4 alone where the machine has no IPv6. Rejects with the system's error.
 */
export async function listenWith(server: Server, port: number, ready: (server: Server) => void): Promise<Acceptor> {
  try {
    await listenOn(server, port, '::')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') throw error
    await listenOn(server, port, '0.0.0.0')
  }
  ready(server)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close() {
      // Closing resets connections that the kernel has accepted and we have not. One turn of the
      // event loop takes them all; setImmediate runs right behind it, when the queue is empty.
      setImmediate(() => server.close())
    }
  }
}

function listenOn(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG, reusePort: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
