/** Servers that note what they are shown, and gateways before them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { TestContext } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A server that answers with `status` and notes what it was sent. */
export async function serverOf(t: TestContext, statusOf: (url: string) => number = () => 200) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body: Buffer.concat(pieces) })
    response.writeHead(statusOf(url)).end('ok')
  })
  t.after(() => server.closeAllConnections())
  return { seen, port: await listening(t, server) }
}

export interface Place {
  readonly gateway?: object
  readonly listener?: object
  readonly route?: object
  readonly backends: readonly object[]
  readonly named?: readonly object[]
  readonly secrets?: readonly object[]
}

export const fileOf = ({ gateway = {}, listener = {}, route = {}, backends, named, secrets }: Place) =>
  JSON.stringify({
    policies: gateway,
    ...(secrets === undefined ? {} : { secrets }),
    ...(named === undefined ? {} : { backends: named }),
    binds: [{ port: 0, listeners: [{ policies: listener, routes: [{ policies: route, backends }] }] }]
  })

export async function gatewayOf(t: TestContext, place: Place) {
  const gateway = await startGateway(fileOf(place))
  t.after(() => gateway.close())
  return gateway
}

export const ask = (port: number, headers: Record<string, string> = {}, path = '/') =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers })

export const at = (port: number, auth?: object) => ({
  host: `127.0.0.1:${port}`,
  ...(auth === undefined ? {} : { policies: { auth } })
})
