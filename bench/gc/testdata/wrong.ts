/** Answers everything by itself, and not what the backend would. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

export async function startGateway(): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((client) => {
    client.on('data', () => client.write(`HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n${'y'.repeat(1024)}`))
    client.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
    }
  }
}
