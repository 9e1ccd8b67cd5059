/** A gateway just large enough for the garbage gate's own test: one connection upstream per connection. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { HeaderBlock } from '#engine/http/headers.ts'

export async function startGateway(text: string): Promise<{ port: number; close(): Promise<void> }> {
  const upstreamPort = Number(/127\.0\.0\.1:(\d+)/.exec(text)![1])
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port: upstreamPort, noDelay: true })
    const block = new HeaderBlock()
    client.on('data', (chunk) => {
      block.reset()
      block.text = chunk.toString('latin1')
      upstream.write(block.text + block.lines(), 'latin1')
    })
    upstream.on('data', (chunk) => client.write(chunk))
    client.on('close', () => upstream.destroy())
    client.on('error', () => client.destroy())
    upstream.on('error', () => client.destroy())
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
