/** Free ports for programs that cannot bind port zero and tell which one they got. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const given = new Set<number>()

/** A port of 127.0.0.1 that was free a moment ago and that this process has not given away before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    if (given.has(port)) continue
    given.add(port)
    return port
  }
}
