/** A server that answers POSTs as a test says, byte by byte; `initialize` it answers well, as a session called "s". */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface Hostile {
  readonly port: number
  readonly seen: { readonly method: string; readonly headers: IncomingMessage['headers']; readonly body: string }[]
  /** When another request has come. */
  next(): Promise<unknown>
}

export type Answers = (body: string, response: ServerResponse, request: IncomingMessage) => void

/** `begin`: how `initialize` is answered instead. */
export async function hostile(
  t: TestContext,
  answers: Answers,
  begin: ((response: ServerResponse) => void) | null = null
): Promise<Hostile> {
  const seen: Hostile['seen'] = []
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => {
      body += piece
    })
    request.on('end', () => {
      seen.push({ method: request.method!, headers: request.headers, body })
      http.emit('seen')
      if (request.method === 'POST' && body.includes('"initialize"')) {
        if (begin !== null) {
          begin(response)
          return
        }
        const { id, params } = JSON.parse(body)
        const { protocolVersion = '2025-11-25' } = params ?? {}
        const result = { protocolVersion, capabilities: {}, serverInfo: { name: 'h', version: '1' } }
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      } else answers(body, response, request)
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return { port: (http.address() as AddressInfo).port, seen, next: () => once(http, 'seen') }
}
