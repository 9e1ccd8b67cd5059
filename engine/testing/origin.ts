/** Upstreams for tests: one that behaves and remembers what it saw, and ones that send prepared bytes. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type RawServer, rawServer } from './raw.ts'

export interface Seen {
  readonly method: string
  readonly url: string
  /** Flat: name, value, name, value, as received. */
  readonly headers: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

export interface Origin {
  readonly port: number
  /** Complete requests, in order. */
  readonly seen: Seen[]
  close(): void
}

/** A correct HTTP/1.1 server. `reply` answers a request that is complete; without it, 200 with the body as echo. */
export async function startOrigin(
  reply: (response: ServerResponse, seen: Seen) => void = (response, seen) => response.end(seen.body),
  where: { path?: string } = {}
): Promise<Origin> {
  const seen: Seen[] = []
  const server: Server = createServer({ keepAlive: true }, (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, rawTrailers } = request
      const body = Buffer.concat(chunks).toString('latin1')
      const one: Seen = { method, url, headers: rawHeaders, body, trailers: rawTrailers }
      seen.push(one)
      reply(response, one)
    })
  })
  if (where.path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(where.path)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? (address as AddressInfo).port : 0,
    seen,
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
}

/** A server that answers every read with `answer`, whatever it says, and with `end` then closes. */
export function startScript(answer: string, end = false): Promise<RawServer> {
  return rawServer((client) => {
    client.socket.on('data', () => {
      client.send(answer)
      if (end) client.socket.end()
    })
  })
}

/** The status codes of all responses in `text`, in order. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
}
