/** Servers and clients of the stateless era alone, made with the official SDK 2.x. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpHttpHandler, McpServer } from '@modelcontextprotocol/server'

export interface StatelessServer {
  readonly port: number
  readonly handler: McpHttpHandler
  /** What it was asked over HTTP. */
  readonly seen: { readonly method: string; readonly headers: IncomingMessage['headers']; readonly body: string }[]
}

export interface StatelessServerOptions {
  /** Whether it answers `initialize` too. */
  readonly isDual?: boolean
  readonly setUp: (server: McpServer) => void
}

export async function startStateless(
  t: TestContext,
  { isDual = false, setUp }: StatelessServerOptions
): Promise<StatelessServer> {
  const seen: StatelessServer['seen'] = []
  const handler = createMcpHandler(
    () => {
      const capabilities = { logging: {}, tools: { listChanged: true }, resources: { subscribe: true } }
      const server = new McpServer({ name: 'stateless', version: '2' }, { capabilities, instructions: 'Be brief.' })
      setUp(server)
      return server
    },
    { legacy: isDual ? 'stateless' : 'reject' }
  )
  const answer = toNodeHandler(handler)
  const http = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      seen.push({ method: request.method!, headers: request.headers, body })
      // The SDK's own types do not agree under exactOptionalPropertyTypes.
      void answer(request as Parameters<typeof answer>[0], response, body === '' ? undefined : JSON.parse(body))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    http.closeAllConnections()
    http.close()
    await handler.close()
  })
  return { port: (http.address() as AddressInfo).port, handler, seen }
}

/** Connected, and of the stateless era whatever the gateway would offer besides. */
export async function statelessClientOf(
  t: TestContext,
  url: string,
  options: ClientOptions = {},
  headers: Record<string, string> = {}
): Promise<Client> {
  const client = new Client(
    { name: 'modern', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options }
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  t.after(() => client.close())
  return client
}
