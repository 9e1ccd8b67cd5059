/** The backend of the built-in demonstration: a small real HTTP server on loopback. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { eventText, mockAnswer } from './models/answers.ts'
import { openaiError } from './models/completions.ts'
import { RealtimeSession } from './models/realtime.ts'
import { acceptWebSocket } from './models/websocket.ts'

const EVENTS = 5
const EVENT_PAUSE_MS = 300
const ECHO_BYTES_MAX = 64 * 1024
/** Between the pieces of a model's answer: long enough to be seen. */
const PIECE_PAUSE_MS = 50
const PROMPT_BYTES_MAX = 2 * 1024 * 1024
const BYTES_MAX = 64 * 1024 * 1024

export interface DemoServer {
  readonly port: number
  close(): void
}

/** Starts it on a free port of 127.0.0.1. It keeps no process alive. */
export async function startDemoServer(): Promise<DemoServer> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const sockets = new Set<Duplex>()
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket)
    // The client has gone: the error has no reader.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    upgrade(request, socket, head)
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () => {
      server.close()
      server.closeAllConnections()
      // Those that were upgraded are no connections of the server any more.
      for (const socket of sockets) socket.destroy()
    }
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://demo').pathname
  if (path === '/hello') reply(response, 200, 'text/plain', 'Hello from the demo backend.\n')
  else if (path === '/echo') await echo(request, response)
  else if (path === '/stream') stream(response)
  else if (path.startsWith('/v1')) await model(path, request, response)
  else if (path.startsWith('/bytes/')) bytes(response, Number(path.slice('/bytes/'.length)))
  else reply(response, 404, 'text/plain', 'The demo backend has /hello, /echo, /stream and /bytes/N.\n')
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await textOf(request, ECHO_BYTES_MAX)
  if (body === null) {
    reply(response, 413, 'text/plain', `echo takes at most ${ECHO_BYTES_MAX} bytes\n`)
    return
  }
  const { method, url, headers } = request
  reply(response, 200, 'application/json', `${JSON.stringify({ method, url, headers, body }, null, 2)}\n`)
}

/** The body; null: it is longer than that. */
async function textOf(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Read to its end: a request that is given up takes its response with it.
    if (bytes <= bytesMax) chunks.push(chunk)
  }
  return bytes > bytesMax ? null : Buffer.concat(chunks).toString()
}

/** A provider of models without a model. */
async function model(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await textOf(request, PROMPT_BYTES_MAX)
  const answer = text === null ? null : mockAnswer(path, parsed(text), request.headers)
  if (answer === null) {
    const [status, message] = text === null ? [413, 'the prompt is too long'] : [404, `nothing is at ${path}`]
    reply(response, status, 'application/json', JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
    return
  }
  if (answer.events === null) {
    reply(response, answer.status, 'application/json', JSON.stringify(answer.whole))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of answer.events) {
    if (response.destroyed) return
    response.write(eventText(event))
    await pause(PIECE_PAUSE_MS)
  }
  response.end()
}

/** A session of the Realtime API. */
function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://demo')
  if (!pathname.endsWith('/realtime')) {
    const text = JSON.stringify(openaiError(404, `nothing is at ${pathname}`))
    const fields = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close`
    socket.end(`HTTP/1.1 404 Not Found\r\n${fields}\r\n\r\n${text}`)
    return
  }
  const session = new RealtimeSession(searchParams.get('model') ?? 'demo')
  const say = (events: readonly object[]) => {
    for (const event of events) out.send(JSON.stringify(event))
  }
  const out = acceptWebSocket(request, socket, head, (text) => say(session.heard(text)))
  say(session.opened())
}

/** Null: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  let sent = 0
  const timer = setInterval(() => {
    sent++
    response.write(`id: ${sent}\ndata: {"event":${sent},"of":${EVENTS}}\n\n`)
    if (sent === EVENTS) response.end()
  }, EVENT_PAUSE_MS)
  response.on('close', () => clearInterval(timer))
}

function bytes(response: ServerResponse, count: number): void {
  if (!Number.isInteger(count) || count < 0 || count > BYTES_MAX) {
    reply(response, 400, 'text/plain', `/bytes/N takes N from 0 to ${BYTES_MAX}\n`)
    return
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': count })
  const block = Buffer.alloc(64 * 1024, 'weir')
  let left = count
  const more = () => {
    while (left > 0) {
      const part = block.subarray(0, Math.min(left, block.length))
      left -= part.length
      if (!response.write(part)) {
        response.once('drain', more)
        return
      }
    }
    response.end()
  }
  more()
}
