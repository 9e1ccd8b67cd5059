/** Servers of the transports that have a host, written by hand: what they are sent is noted to the byte. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface Received {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

export type Answer = (request: Received, response: ServerResponse) => void

/** A server that notes what it is sent. */
export async function serverOf(t: TestContext, answer: Answer) {
  const seen: Received[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers } = request
    const received = { method, path: url, headers, bytes: Buffer.concat(pieces) }
    seen.push(received)
    answer(received, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, port: (server.address() as AddressInfo).port }
}

interface Message {
  readonly id?: number | string
  readonly method: string
}

const CAPABILITIES = { tools: {}, logging: {} }
const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'plain', version: '1' }
}
const LOGGED = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'over the stream' } }

/** Null: nothing is to be answered. */
function responseTo({ id, method }: Message): object | null {
  if (id === undefined) return null
  if (method === 'initialize') return { jsonrpc: '2.0', id, result: INITIALIZED }
  const result = method === 'tools/list' ? { tools: [{ name: 'x', inputSchema: { type: 'object' } }] } : { content: [] }
  return { jsonrpc: '2.0', id, result }
}

const messageOf = ({ bytes }: Received) => JSON.parse(bytes.toString()) as Message
const event = (message: object) => `data: ${JSON.stringify(message)}\n\n`
const STREAM = { 'content-type': 'text/event-stream' }

/** Streamable HTTP: messages are answered with JSON, and one is sent to each stream that listens. */
export function answerHttp(): Answer {
  return (request, response) => {
    const session = { 'mcp-session-id': 'the-session' }
    if (request.method === 'DELETE') response.writeHead(204).end()
    else if (request.method === 'GET') {
      response.writeHead(200, { ...STREAM, ...session })
      response.write(event(LOGGED))
    } else {
      const answer = responseTo(messageOf(request))
      if (answer === null) response.writeHead(202).end()
      else response.writeHead(200, { 'content-type': 'application/json', ...session }).end(JSON.stringify(answer))
    }
  }
}

/** HTTP+SSE, whose messages go to a place with a query of its own. */
export function answerSse(): Answer {
  const streams = new Map<string, ServerResponse>()
  return (request, response) => {
    if (request.method === 'GET') {
      const place = `/sse/messages/a%20b?session=${streams.size + 1}%2F2&session=1&z&a=b+c`
      streams.set(place, response.writeHead(200, STREAM))
      response.write(`event: endpoint\ndata: ${place}\n\n`)
      return
    }
    response.writeHead(202).end('Accepted')
    const answer = responseTo(messageOf(request))
    if (answer !== null) streams.get(request.path)!.write(`event: message\n${event(answer)}`)
  }
}

export const SERVER_KINDS = ['mcp', 'sse', 'openapi'] as const
type ServerKind = (typeof SERVER_KINDS)[number]

export const answerOf = (kind: ServerKind): Answer => {
  if (kind === 'openapi') return (_request, response) => void response.end('{}')
  return kind === 'mcp' ? answerHttp() : answerSse()
}

const API = {
  openapi: '3.0.0',
  info: { title: 'x', version: '1' },
  paths: { '/x': { get: { operationId: 'x' } } }
}

/** A target of a configuration file: one tool, `x`, whatever the kind. */
export const targetOf = (kind: ServerKind, port: number, name: string, auth?: object) => {
  const host = `http://127.0.0.1:${port}`
  const place = kind === 'openapi' ? { schema: API, host } : { host: `${host}/mcp` }
  return { name, [kind]: place, ...(auth === undefined ? {} : { policies: { auth } }) }
}
