/** A real HTTP server that a guard asks. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Body } from '#engine/testing/models.ts'

export interface Service {
  readonly port: number
  readonly seen: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: Body }[]
  answer: (body: Body, response: ServerResponse) => void
}

export async function service(t: TestContext): Promise<Service> {
  const state: Service = { port: 0, seen: [], answer: (_, response) => response.end('{"action":{}}') }
  const server: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Body
    state.seen.push({ path: request.url ?? '', headers: request.headers, body })
    state.answer(body, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return Object.assign(state, { port: (server.address() as AddressInfo).port })
}

export const hook = (port: number, more: object = {}) => ({
  webhook: { backend: { host: `127.0.0.1:${port}` }, ...more }
})
export const says =
  (answer: unknown): Service['answer'] =>
  (_, response) =>
    response.end(JSON.stringify(answer))
