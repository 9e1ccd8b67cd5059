/** A server that keeps notes for its session, asks, tells and counts: on standard streams, over HTTP and over SSE. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const URI = 'note://all'
const FORM = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
const WAIT_MS = 60_000
const text = (content: string) => ({ content: [{ type: 'text' as const, text: content }] })

/** One session. */
export function notes(): McpServer {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} }
  const made = new McpServer({ name: 'notes', version: '1' }, { capabilities })
  const { server } = made
  const kept: string[] = []
  let cancelled = 0
  let isSubscribed = false
  server.setRequestHandler(SubscribeRequestSchema, async () => {
    isSubscribed = true
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, async () => {
    isSubscribed = false
    return {}
  })
  made.registerResource('all', URI, {}, async () => ({ contents: [{ uri: URI, text: kept.join('\n') }] }))
  made.registerTool('add', { inputSchema: { text: z.string() } }, async ({ text: note }) => {
    kept.push(note)
    if (isSubscribed) await server.sendResourceUpdated({ uri: URI })
    return text(`note ${kept.length}`)
  })
  made.registerTool('list', {}, () => text(kept.join('\n')))
  // Outside of any request, as far as the transport knows: on the stream of unasked messages.
  made.registerTool('elicit', {}, async () => {
    const { action, content } = await server.elicitInput({ message: 'Your name?', requestedSchema: FORM })
    return text(`${action} ${content?.name}`)
  })
  made.registerTool('sample', {}, async () => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }]
    const { content } = await server.createMessage({ messages, maxTokens: 7 })
    return text(JSON.stringify(content))
  })
  made.registerTool('roots', {}, async () => text((await server.listRoots()).roots.map(({ uri }) => uri).join()))
  made.registerTool('count', {}, async ({ sendNotification, _meta }) => {
    const progressToken = _meta?.progressToken
    for (let progress = 1; progressToken !== undefined && progress <= 3; progress++)
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } })
    return text('counted')
  })
  made.registerTool('wait', {}, async ({ signal }) => {
    await pause(WAIT_MS, undefined, { signal }).catch(() => {
      cancelled++
    })
    return text('waited')
  })
  made.registerTool('cancelled', {}, () => text(String(cancelled)))
  made.registerTool('change', {}, () => {
    made.registerTool(`new${Date.now()}`, {}, () => text('new'))
    return text('changed')
  })
  return made
}

interface Connected {
  readonly http: Server
  readonly port: number
  /** Forgets every session, as a restart does; over HTTP. */
  forget(): void
}

type Answer = (
  request: IncomingMessage,
  response: Parameters<SSEServerTransport['handlePostMessage']>[1]
) => Promise<void>

/** Over streamable HTTP at /mcp, or as before 2025-03-26 at /sse. */
export async function serveNotes(kind: 'http' | 'sse'): Promise<Connected> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const answer = kind === 'http' ? overHttp(sessions) : overSse()
  const http = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy())
  })
  // On a machine that stalls, a call would meet the end of an idle connection: POST is not sent again then.
  http.keepAliveTimeout = 0
  await once(http.listen(0, '127.0.0.1'), 'listening')
  return { http, port: (http.address() as AddressInfo).port, forget: () => sessions.clear() }
}

// The SDK's own types do not agree under exactOptionalPropertyTypes.
type Wire = Parameters<McpServer['connect']>[0]

function overHttp(sessions: Map<string, StreamableHTTPServerTransport>): Answer {
  return async (request, response) => {
    const id = request.headers['mcp-session-id']
    let transport = typeof id === 'string' ? sessions.get(id) : undefined
    if (transport === undefined && id !== undefined) {
      response.writeHead(404).end()
      return
    }
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (name) => void sessions.set(name, made),
        onsessionclosed: (name) => void sessions.delete(name)
      })
      await notes().connect(made as Wire)
      transport = made
    }
    await transport.handleRequest(request, response)
  }
}

function overSse(): Answer {
  const sessions = new Map<string, SSEServerTransport>()
  return async (request, response) => {
    if (request.method === 'GET') {
      const made = new SSEServerTransport('/messages', response)
      sessions.set(made.sessionId, made)
      await notes().connect(made as Wire)
      return
    }
    const name = new URL(request.url!, 'http://host').searchParams.get('sessionId') ?? ''
    const transport = sessions.get(name)
    if (transport === undefined) response.writeHead(404).end()
    else await transport.handlePostMessage(request, response)
  }
}
