/**
 * The server that the conformance suite is run against, made with the SDK: sessions for clients up to 2025-11-25, none
 * for those of 2026-07-28. `startFixture` is what the run uses; nothing of it is part of the program.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler
} from '@modelcontextprotocol/node'
import {
  classifyInboundRequest,
  createMcpHandler,
  type EventStore,
  isInitializeRequest,
  type JSONRPCMessage,
  type ServerContext
} from '@modelcontextprotocol/server'
import { fixtureServer } from './fixture-server.ts'
import type { FixtureOptions } from './fixture-tools.ts'

export interface Fixture {
  readonly port: number
  close(): Promise<void>
}

const RETRY_MS = 500

/** Listens on 127.0.0.1, at /mcp. */
export async function startFixture(): Promise<Fixture> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>()
  const options: FixtureOptions = {
    changed: (list) => (list === 'tools' ? modern.notify.toolsChanged() : modern.notify.promptsChanged()),
    breakOff: (ctx: ServerContext) => sessions.get(ctx.sessionId ?? '')?.closeSSEStream(ctx.mcpReq.id)
  }
  const modern = createMcpHandler(() => fixtureServer(options))
  const serveModern = toNodeHandler(modern)
  const isLocalHost = localhostHostValidation()
  const isLocalOrigin = localhostOriginValidation()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLocalHost(request, response) || !isLocalOrigin(request, response)) return
    const body = request.method === 'POST' ? await bodyOf(request) : undefined
    const classified = classifyInboundRequest({
      httpMethod: request.method!,
      ...field('protocolVersionHeader', request.headers['mcp-protocol-version']),
      ...field('mcpMethodHeader', request.headers['mcp-method']),
      body
    })
    if (request.method === 'POST' && classified.kind !== 'legacy') {
      return serveModern(request as Parameters<typeof serveModern>[0], response, body)
    }
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known !== undefined) return known.handleRequest(request, response, body)
    if (id !== undefined) return refuse(response, 404, 'Session not found')
    if (!isInitializeRequest(body)) return refuse(response, 400, 'Bad Request: Session ID required')
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: eventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (own) => void sessions.set(own, transport),
      onsessionclosed: (own) => void sessions.delete(own)
    })
    await fixtureServer(options).connect(transport)
    return transport.handleRequest(request, response, body)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      console.error(error)
      if (response.headersSent) response.destroy()
      else refuse(response, 500, 'Internal error')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const transport of sessions.values()) await transport.close()
      await modern.close()
      server.closeAllConnections()
      server.close()
    }
  }
}

function field<Name extends string>(name: Name, value: string | string[] | undefined): { [key in Name]?: string } {
  return (typeof value === 'string' ? { [name]: value } : {}) as { [key in Name]?: string }
}

/** Undefined: it is no JSON, which the SDK answers in its own way. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  return json(request).catch(() => undefined)
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null })
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(body)
}

/** Events of one session, so that a stream can be taken up again. */
function eventStore(): EventStore {
  const kept: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = []
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${kept.length}`
      kept.push({ id, stream, message })
      return id
    },
    async replayEventsAfter(lastId, { send }) {
      const at = kept.findIndex(({ id }) => id === lastId)
      const stream = kept[at]?.stream ?? ''
      for (const event of at < 0 ? [] : kept.slice(at + 1)) {
        if (event.stream === stream && Object.keys(event.message).length > 0) await send(event.id, event.message)
      }
      return stream
    }
  }
}
