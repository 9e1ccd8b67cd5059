/** From the address of a Pod to loopback, where the servers of tests listen. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Of all players. */
export const PLAYER_PORT = 8080

export async function relayTo(port: number, from = PLAYER_PORT): Promise<void> {
  const server = createServer((client) => {
    const inner = connect(port, '127.0.0.1')
    client.on('error', () => inner.destroy())
    inner.on('error', () => client.destroy())
    client.pipe(inner).pipe(client)
  })
  server.listen(from, '0.0.0.0')
  await once(server, 'listening')
}
