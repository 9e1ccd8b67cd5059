/**
 * A small HTTP server for the admin side. It is slow and strict on purpose: whole replies only, hardly
 * any request body, few connections, short timeouts. Traffic never comes here.
 */
import { chmodSync, unlinkSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Address } from './address.ts'

const REQUEST_BYTES_MAX = 4096
const HEAD_BYTES_MAX = 8192
const CONNECTIONS_MAX = 64
const HEAD_TIMEOUT_MS = 5000
const REQUEST_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 5000
/** Longest time without progress while a client does not read its reply. */
const SEND_TIMEOUT_MS = 15_000
/** "localhost:0" needs one free port on two addresses; the second may be taken by chance. */
const PORT_ZERO_TRIES = 10

export interface Request {
  readonly method: string
  /** Path without query, starting with "/". */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Address of the client; absent: over a unix socket. */
  readonly from?: string
  /** Reads the body. Rejects when the connection breaks. */
  readonly body: () => Promise<Buffer>
}

export interface Reply {
  readonly status: number
  readonly body: string
  /** Sent instead of `body`. */
  readonly bytes?: Uint8Array
  /** Sent instead of `body`, as it comes; its signal aborts when the client leaves. Must not throw. */
  readonly stream?: (signal: AbortSignal) => AsyncIterable<string>
  /** Content type; text/plain when absent. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Called once the reply has been handed to the system (or the client is gone). */
  readonly after?: () => void
}

export const jsonReply = (status: number, value: unknown): Reply => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(value, null, 2)}\n`
})

export type Handler = (request: Request) => Reply | Promise<Reply>

/** A handler, and the bodies that it reads. */
interface Bounded {
  readonly handle: Handler
  readonly bodyBytesMax: (path: string) => number | undefined
}

export interface Listening {
  /** As the address syntax writes them: "127.0.0.1:15000", "unix:/path". Empty when off. */
  readonly addresses: readonly string[]
  close(): Promise<void>
}

export interface ListenOptions {
  /** Name of the setting, for error messages. */
  readonly setting: string
  /** Lets another process listen on the same port (SO_REUSEPORT). */
  readonly sharePort: boolean
  /** Permissions of a unix socket. */
  readonly socketMode: number
  /** Longest bodies by path, in bytes, where they are read; else REQUEST_BYTES_MAX, for those that nobody reads. */
  readonly bodyBytesMax?: (path: string) => number | undefined
}

/** Listens on every address of `address`. Throws an Error that names the setting and the remedy. */
export async function listen(address: Address, options: ListenOptions, handle: Handler): Promise<Listening> {
  const handler = { handle, bodyBytesMax: options.bodyBytesMax ?? (() => undefined) }
  if (address.kind === 'off') return { addresses: [], close: async () => {} }
  const servers: Server[] = []
  try {
    if (address.kind === 'unix') servers.push(await listenUnix(address.path, options.socketMode, handler))
    else servers.push(...(await listenTcp(address.hosts, address.port, options.sharePort, handler)))
  } catch (error) {
    throw explain(error, options.setting, format(address))
  }
  return {
    addresses: servers.map(addressOf),
    close: async () => {
      await Promise.all(servers.map(closeServer))
    }
  }
}

async function listenTcp(
  hosts: readonly string[],
  port: number,
  reusePort: boolean,
  handler: Bounded
): Promise<Server[]> {
  for (let tries = 1; ; tries++) {
    const servers: Server[] = []
    try {
      for (const host of hosts) {
        const chosen = servers.length === 0 ? port : portOf(servers[0]!)
        const server = await listenHost(host, chosen, reusePort, handler, servers.length > 0)
        if (server !== null) servers.push(server)
      }
      return servers
    } catch (error) {
      await Promise.all(servers.map(closeServer))
      const byChance = port === 0 && codeOf(error) === 'EADDRINUSE' && tries < PORT_ZERO_TRIES
      if (!byChance) throw error
    }
  }
}

/** Null: the machine does not have this address, and `optional` says that another one is served already. */
async function listenHost(
  host: string,
  port: number,
  reusePort: boolean,
  handler: Bounded,
  optional: boolean
): Promise<Server | null> {
  try {
    return await started(newServer(handler), { host, port, reusePort })
  } catch (error) {
    const code = codeOf(error)
    const missing = code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
    if (missing && optional) return null
    // A machine without IPv6 still means "every address" by [::].
    if (missing && host === '::') return await started(newServer(handler), { host: '0.0.0.0', port, reusePort })
    throw error
  }
}

async function listenUnix(path: string, mode: number, handler: Bounded): Promise<Server> {
  let server: Server
  try {
    server = await started(newServer(handler), { path })
  } catch (error) {
    // A process that was killed leaves its socket file behind. One that answers is not ours to remove.
    if (codeOf(error) !== 'EADDRINUSE' || (await answers(path))) throw error
    unlinkSync(path)
    server = await started(newServer(handler), { path })
  }
  chmodSync(path, mode)
  return server
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(path)
  socket.once('connect', () => {
    socket.destroy()
    resolve(true)
  })
  socket.once('error', (error) => resolve(codeOf(error) !== 'ECONNREFUSED'))
  return promise
}

function started(
  server: Server,
  where: { host: string; port: number; reusePort: boolean } | { path: string }
): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>()
  server.once('error', reject)
  server.listen(where, () => {
    server.off('error', reject)
    resolve(server)
  })
  return promise
}

function newServer(handler: Bounded): Server {
  const server = createServer(
    {
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: HEAD_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 1000
    },
    (message, response) => void serve(message, response, handler)
  )
  server.maxConnections = CONNECTIONS_MAX
  server.setTimeout(SEND_TIMEOUT_MS)
  return server
}

/** Never rejects: what a handler throws becomes a 500 that says nothing of its inside. */
async function serve(message: IncomingMessage, response: ServerResponse, handler: Bounded): Promise<void> {
  const target = message.url ?? ''
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const bytesMax = handler.bodyBytesMax(path) ?? REQUEST_BYTES_MAX
  if (message.headers['transfer-encoding'] !== undefined || Number(message.headers['content-length']) > bytesMax) {
    response.shouldKeepAlive = false
    send(response, { status: 413, body: `requests here have no body of more than ${bytesMax} bytes\n` })
    return
  }
  // Absolute targets are for proxies; a second authority beside Host would only be a way around the check of Host.
  if (!target.startsWith('/')) {
    message.resume()
    send(response, { status: 400, body: 'the request target must be a path\n' })
    return
  }
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1))
  const { method = '', headers } = message
  const { remoteAddress: from } = message.socket
  try {
    send(
      response,
      await handler.handle({
        method,
        path,
        query,
        headers,
        ...(from === undefined ? {} : { from }),
        body: () => bodyOf(message)
      })
    )
  } catch {
    // The error is the program's own and may quote a configuration: it does not go out.
    send(response, { status: 500, body: 'internal error\n' })
  }
  message.resume()
}

/** Its length is known to be within its bound. */
async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function send(response: ServerResponse, reply: Reply): void {
  const { after, body, stream, bytes = Buffer.from(body) } = reply
  if (after !== undefined) response.once('close', after)
  response.writeHead(reply.status, {
    'content-type': reply.type ?? 'text/plain; charset=utf-8',
    // RFC 9110, section 15.4.5: of a 304 it would be that of the 200.
    ...(reply.status === 304 || stream !== undefined ? {} : { 'content-length': bytes.length }),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...reply.headers
  })
  if (stream === undefined) response.end(bytes)
  else void sendPieces(response, stream)
}

/** Waits for the client where it reads slowly; ends with it. */
async function sendPieces(response: ServerResponse, stream: NonNullable<Reply['stream']>): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  for await (const piece of stream(left.signal)) {
    if (left.signal.aborted) break
    if (response.write(piece)) continue
    const { promise, resolve } = Promise.withResolvers<void>()
    response.once('drain', resolve)
    left.signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
  }
  response.end()
}

function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // The only error is "not running", which is what is wanted.
  server.close(() => resolve())
  server.closeAllConnections()
  return promise
}

function addressOf(server: Server): string {
  const address = server.address()
  if (typeof address === 'string') return `unix:${address}`
  return address === null ? '' : hostPort(address.address, address.port)
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function format(address: Address): string {
  if (address.kind === 'unix') return `unix:${address.path}`
  return address.kind === 'off' ? 'off' : address.hosts.map((host) => hostPort(host, address.port)).join(' and ')
}

function explain(error: unknown, setting: string, where: string): Error {
  const code = codeOf(error)
  const cause = error instanceof Error ? error.message : String(error)
  const why =
    code === 'EADDRINUSE'
      ? 'is in use by another program. Stop it'
      : code === 'EACCES' || code === 'EPERM'
        ? 'may not be used by this user. Grant it'
        : `cannot be listened on (${cause}). Mend that`
  return new Error(`${setting}: ${where} ${why}, or set config.${setting} to another address or to "off"`, {
    cause: error
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
