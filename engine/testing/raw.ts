/** Raw TCP clients and servers for tests: exact bytes, events instead of time. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A client that sees every byte. Texts are latin1. */
export class RawClient {
  received = ''
  ended = false
  readonly socket: Socket
  #waiting: { done: () => boolean; resolve: () => void }[] = []

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1')
      this.#check()
    })
    const end = () => {
      this.ended = true
      this.#check()
    }
    socket.on('end', end)
    socket.on('close', end)
    // A reset is one way for a connection to end; what was received tells the rest.
    socket.on('error', end)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Resolves with everything received once `text` is in it; rejects when the connection ends before. */
  async until(text: string | RegExp): Promise<string> {
    const found = () => (typeof text === 'string' ? this.received.includes(text) : text.test(this.received))
    await this.#wait(() => found() || this.ended)
    if (!found()) throw new Error(`connection ended before ${text}; received: ${JSON.stringify(this.received)}`)
    return this.received
  }

  /** Resolves with everything received once the server has closed. */
  async untilEnd(): Promise<string> {
    await this.#wait(() => this.ended)
    return this.received
  }

  close(): void {
    this.socket.destroy()
  }

  #check(): void {
    for (const waiter of this.#waiting) if (waiter.done()) waiter.resolve()
    this.#waiting = this.#waiting.filter((waiter) => !waiter.done())
  }

  #wait(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ done, resolve }))
  }
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  return new RawClient(socket)
}

/** Sends `text` on a connection of its own and returns all that comes until the server closes it. */
export async function exchangeRaw(port: number, text: string): Promise<string> {
  const client = await rawClient(port)
  client.send(text)
  const answer = await client.untilEnd()
  client.close()
  return answer
}

export interface RawServer {
  readonly port: number
  readonly sockets: Set<Socket>
  /** Connections accepted so far. */
  accepted(): number
  close(): void
}

/** A server whose connections are handed to `serve` as they come. */
export async function rawServer(serve: (client: RawClient) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(new RawClient(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    accepted: () => accepted,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** The content of the first message in `text`, which is whole and has a chunked body. */
export function dechunk(text: string): string {
  let at = text.indexOf('\r\n\r\n') + 4
  let out = ''
  for (;;) {
    const end = text.indexOf('\r\n', at)
    const length = Number.parseInt(text.slice(at, end), 16)
    if (length === 0) return out
    out += text.slice(end + 2, end + 2 + length)
    at = end + 4 + length
  }
}
