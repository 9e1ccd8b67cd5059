/** Listening, the same for both socket layers. */
import type { Server } from 'node:net'
import type { Acceptor } from './socket-layer.ts'

/** Connections that may wait in the kernel's accept queue. */
const BACKLOG = 4096

/** How long a listening socket that closes goes on taking what still comes. */
const CLOSE_MAX_MS = 1_000

/**
 * Listens with SO_REUSEPORT (each worker thread has its own socket on the port) on all addresses of
 * both families, or of IPv4 alone where the machine has no IPv6. Rejects with the system's error.
 * `ready` gets a function to call with every connection that is taken.
 */
export async function listenWith(
  server: Server,
  port: number,
  ready: (server: Server, taken: () => void) => void
): Promise<Acceptor> {
  try {
    await listenOn(server, port, '::')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') throw error
    await listenOn(server, port, '0.0.0.0')
  }
  let count = 0
  ready(server, () => count++)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => closeBehindQueue(server, () => count)
  }
}

/**
 * Closing resets the connections that wait in the kernel's queue. libuv takes one per turn of the event
 * loop, so the socket is closed right behind the first poll phase that found the queue empty.
 * `count`: connections taken so far.
 */
function closeBehindQueue(server: Server, count: () => number): void {
  const deadline = performance.now() + CLOSE_MAX_MS
  const afterPoll = (before: number) => {
    if (count() === before || performance.now() > deadline) server.close()
    else setImmediate(afterPoll, count())
  }
  // The first immediate ends the turn that asked for it: only the next one has a whole poll phase behind it.
  setImmediate(() => setImmediate(afterPoll, count()))
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
