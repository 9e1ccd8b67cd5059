import type { Exchange } from './contract/exchange.ts'

/** After a 101: both connections become one pipe. `over` is called when both ends are gone and counted. */
export function spliceExchange(ex: Exchange, over: () => void): void {
  const server = ex.server!.splice()
  const client = ex.client.splice(ex)
  ex.server = null
  let open = 2
  const closed = () => {
    if (--open > 0) return
    ex.bytesReceived = client.bytes
    ex.bytesSent = server.bytes
    over()
  }
  client.join(server, closed)
  server.join(client, closed)
}
