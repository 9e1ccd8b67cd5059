/** Free ports for programs that cannot bind port zero and tell which one they got. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const handedOut = new Set<number>()

/** A port of 127.0.0.1 that was free a moment ago and that this process has not given away before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    if (handedOut.has(port)) continue
    handedOut.add(port)
    return port
  }
}
