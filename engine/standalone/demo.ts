/** The backend of the built-in demonstration: a small real HTTP server on loopback. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const EVENTS = 5
const EVENT_PAUSE_MS = 300
const ECHO_BYTES_MAX = 64 * 1024
const BYTES_MAX = 64 * 1024 * 1024

/** Starts it on a free port of 127.0.0.1. Resolves with the port. */
export async function startDemo(): Promise<number> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://demo').pathname
  if (path === '/hello') reply(response, 200, 'text/plain', 'Hello from the demo backend.\n')
  else if (path === '/echo') await echo(request, response)
  else if (path === '/stream') stream(response)
  else if (path.startsWith('/bytes/')) bytes(response, Number(path.slice('/bytes/'.length)))
  else reply(response, 404, 'text/plain', 'The demo backend has /hello, /echo, /stream and /bytes/N.\n')
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) {
    body += String(chunk)
    if (body.length > ECHO_BYTES_MAX) {
      reply(response, 413, 'text/plain', `echo takes at most ${ECHO_BYTES_MAX} bytes\n`)
      return
    }
  }
  const { method, url, headers } = request
  reply(response, 200, 'application/json', `${JSON.stringify({ method, url, headers, body }, null, 2)}\n`)
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
