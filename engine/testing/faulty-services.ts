/** Services that fail in every way that a peer can, over gRPC and over HTTP, and know what is open. */
import { once } from 'node:events'
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface Service {
  readonly port: number
  /** Resolves when no question is under way: no stream of gRPC, no connection of HTTP. */
  idle(): Promise<void>
  /** Resolves when a question has come. */
  readonly arrival: Promise<void>
}

/** The port; closed with the test. */
export async function listening(t: TestContext, server: Server | Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Counts what `opens` is given until it closes. */
function counter() {
  let open = 0
  const waiting: (() => void)[] = []
  const arrival = Promise.withResolvers<void>()
  return {
    arrival: arrival.promise,
    opens(one: Socket | ServerHttp2Stream): void {
      open++
      one.on('error', () => {})
      one.once('close', () => {
        if (--open === 0) for (const done of waiting.splice(0)) done()
      })
      arrival.resolve()
    },
    idle: () => (open === 0 ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve)))
  }
}

/** `serve` gets each stream. */
export async function grpcService(t: TestContext, serve: (stream: ServerHttp2Stream) => void): Promise<Service> {
  const server = createHttp2Server({ maxSendHeaderBlockLength: 16e6 })
  const { opens, ...counts } = counter()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('session', (session) => session.on('error', () => {}))
  server.on('stream', (stream) => {
    opens(stream)
    serve(stream)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { port: await listening(t, server), ...counts }
}

/** `serve` gets each connection, once something has come. */
export async function rawService(t: TestContext, serve: (socket: Socket) => void): Promise<Service> {
  const { opens, ...counts } = counter()
  const server = createNetServer((socket) => {
    socket.once('data', () => {
      opens(socket)
      serve(socket)
    })
    socket.on('error', () => {})
    t.after(() => socket.destroy())
  })
  return { port: await listening(t, server), ...counts }
}

const GRPC_HEAD = { ':status': 200, 'content-type': 'application/grpc' }
const framed = (message: Uint8Array): Buffer => {
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return frame
}
/** With `message` and status 0. */
export const answerGrpc = (stream: ServerHttp2Stream, message: Uint8Array): void => {
  stream.respond(GRPC_HEAD, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(framed(message))
}
const MANY = Array.from({ length: 10_000 }, (_, i) => [`x-${i}`, 'v'] as const)

export interface Fault {
  readonly name: string
  readonly grpc: (stream: ServerHttp2Stream) => void
  /** Null: over HTTP it is an answer like another. */
  readonly http: ((socket: Socket) => void) | null
  /** Long, unless the fault is that nothing comes. */
  readonly timeout?: string
}

export const FAULTS: readonly Fault[] = [
  { name: 'says nothing', grpc: () => {}, http: () => {}, timeout: '50ms' },
  {
    name: 'stops within its answer',
    grpc: (stream) => {
      stream.respond(GRPC_HEAD)
      stream.write(Buffer.from([0, 0, 0, 0, 9, 1]))
    },
    http: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
    timeout: '50ms'
  },
  {
    name: 'resets within its answer',
    grpc: (stream) => {
      stream.respond(GRPC_HEAD)
      stream.close(2)
    },
    http: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx', () => socket.resetAndDestroy())
  },
  {
    name: 'breaks the connection',
    grpc: (stream) => stream.session!.destroy(),
    http: (socket) => socket.destroy()
  },
  {
    name: 'sends 10,000 fields',
    grpc: (stream) => stream.respond({ ...GRPC_HEAD, ...Object.fromEntries(MANY) }),
    http: (socket) =>
      socket.write(
        `HTTP/1.1 200 OK\r\n${MANY.map(([name, v]) => `${name}: ${v}\r\n`).join('')}Content-Length: 0\r\n\r\n`
      )
  },
  {
    name: 'answers with octets that are no message',
    grpc: (stream) => answerGrpc(stream, Buffer.from('ffffffffff', 'hex')),
    http: (socket) => socket.write('garbage\r\n\r\n')
  },
  {
    name: 'answers with an error of HTTP',
    grpc: (stream) => {
      stream.respond({ ':status': 503 })
      stream.end('no')
    },
    http: null
  }
]
