/** MCP servers made with the official SDK, over streamable HTTP, for the tests of this folder. */
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

export interface McpHttpServer {
  readonly port: number
  /** Heads of the requests that it got: method, and fields. */
  readonly seen: { readonly method: string; readonly headers: IncomingMessage['headers']; readonly body: string }[]
  /** Sessions that it knows. */
  readonly sessions: Map<string, { readonly transport: StreamableHTTPServerTransport; readonly server: McpServer }>
  /** Forgets every session, as a restart does. */
  forget(): void
  /** When a request with this method has come. */
  until(method: string): Promise<void>
}

export interface ServerOptions {
  /** Answers are JSON, no streams. */
  readonly isJson?: boolean
  readonly setUp: (server: McpServer) => void
}

/** What ends with a test, or with whatever stands for one. */
export type Ending = Pick<TestContext, 'after'>

export async function startMcp(t: Ending, { isJson = false, setUp }: ServerOptions): Promise<McpHttpServer> {
  const sessions: McpHttpServer['sessions'] = new Map()
  const seen: McpHttpServer['seen'] = []
  const heard = new EventEmitter()
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new McpServer(
      { name: 'fixture', version: '1' },
      { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: 'Be kind.' }
    )
    setUp(server)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: isJson,
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
      onsessionclosed: (id) => void sessions.delete(id)
    })
    // The SDK's own types do not agree under exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<McpServer['connect']>[0])
    return transport
  }
  const http = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      seen.push({ method: request.method!, headers: request.headers, body })
      heard.emit(request.method!)
      const id = request.headers['mcp-session-id'] as string | undefined
      if (id !== undefined && !sessions.has(id)) {
        response.writeHead(404, { 'content-type': 'application/json' })
        response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
        return
      }
      const known = id === undefined ? open() : Promise.resolve(sessions.get(id)!.transport)
      void known.then((transport) =>
        transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body))
      )
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return {
    port,
    seen,
    sessions,
    forget: () => sessions.clear(),
    until: async (method) => void (await once(heard, method))
  }
}
