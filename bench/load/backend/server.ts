/**
 * The own backend, a process of its own: event streams always, and the fixed answers where nginx is
 * not installed. Writes its port to stdout. Raw sockets, because node:http would cost more CPU than
 * the proxies under test.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { ANSWER_HEADERS, ANSWERS, EVENT_INTERVAL_MS, EVENT_TEXTS } from './answers.ts'
import { CHAT_EVENTS, CHAT_PATH, MESSAGE_EVENTS, MESSAGES_PATH } from './models.ts'

/** Longer heads do not come from the generator. */
const HEAD_BYTES_MAX = 64 * 1024
/** One timer serves all streams; each has its phase, so that they do not all write at once. */
const TICK_MS = 1

const HURRY = /\r\nx-bench:/i
const FIRST_EVENTS = 3

const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
/** By path. */
const STREAMS: Readonly<Record<string, readonly string[]>> = {
  '/sse': EVENT_TEXTS.map(chunked),
  [CHAT_PATH]: CHAT_EVENTS.map(chunked),
  [MESSAGES_PATH]: MESSAGE_EVENTS.map(chunked)
}
const STREAM_HEAD = `${head('text/event-stream')}Transfer-Encoding: chunked\r\n\r\n`
const FIXED: Readonly<Record<string, Buffer>> = {
  '/4k': fixed('application/json', ANSWERS.accepted),
  '/1m': fixed('application/octet-stream', ANSWERS.megabyte)
}
const OTHERWISE = fixed('text/plain', ANSWERS.kilobyte)

interface Stream {
  readonly chunks: readonly string[]
  readonly socket: Socket
  readonly done: () => void
  next: number
  dueMs: number
  readonly intervalMs: number
}

/** Serves on a free port of 127.0.0.1; gives the port. */
export function serve(): Promise<number> {
  const streams = new Set<Stream>()
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = new Connection(socket, streams)
    socket.on('data', (chunk) => connection.onData(chunk))
    // Proxies drop connections when they are stopped; no client is left.
    socket.on('error', () => socket.destroy())
  })
  setInterval(() => advance(streams), TICK_MS)
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', 4096, () => resolve((server.address() as AddressInfo).port))
  })
}

class Connection {
  readonly #socket: Socket
  readonly #streams: Set<Stream>
  #text = ''
  /** Bytes of a request body that are still to come. */
  #bodyLeft = 0
  /** Of the request whose body is to come. */
  #path = ''
  /** The request has the field X-Bench. */
  #isHurried = false
  #streaming = false

  constructor(socket: Socket, streams: Set<Stream>) {
    this.#socket = socket
    this.#streams = streams
  }

  onData(chunk: Buffer): void {
    this.#text += chunk.toString('latin1')
    while (this.#text !== '' && !this.#streaming) {
      if (this.#bodyLeft > 0) {
        const taken = Math.min(this.#bodyLeft, this.#text.length)
        this.#bodyLeft -= taken
        this.#text = this.#text.slice(taken)
        if (this.#bodyLeft === 0) this.#answer(this.#path)
        continue
      }
      const end = this.#text.indexOf('\r\n\r\n')
      if (end < 0) {
        if (this.#text.length > HEAD_BYTES_MAX) this.#socket.destroy()
        return
      }
      const request = this.#text.slice(0, end + 2)
      this.#text = this.#text.slice(end + 4)
      this.#onRequest(request)
    }
  }

  #onRequest(request: string): void {
    const path = request.slice(request.indexOf(' ') + 1, request.indexOf(' HTTP/'))
    this.#bodyLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(request)?.[1] ?? 0)
    this.#path = path
    this.#isHurried = HURRY.test(request)
    if (this.#bodyLeft === 0) this.#answer(path)
  }

  #answer(path: string): void {
    const chunks = STREAMS[path]
    if (chunks === undefined) this.#socket.write(FIXED[path] ?? OTHERWISE)
    else this.#stream(chunks)
  }

  #stream(chunks: readonly string[]): void {
    this.#streaming = true
    // What a provider says first: its head, and events up to the first text.
    const first = this.#isHurried ? FIRST_EVENTS : 0
    this.#socket.write(STREAM_HEAD + chunks.slice(0, first).join(''), 'latin1')
    const stream: Stream = {
      chunks,
      socket: this.#socket,
      next: first,
      dueMs: performance.now(),
      intervalMs: this.#isHurried ? 0 : EVENT_INTERVAL_MS,
      done: () => {
        this.#streaming = false
        this.onData(Buffer.alloc(0))
      }
    }
    this.#streams.add(stream)
  }
}

/** Writes every event that is due; a stream that is late by more than one interval catches up at once. */
function advance(streams: Set<Stream>): void {
  const now = performance.now()
  for (const stream of streams) {
    if (stream.socket.destroyed) {
      streams.delete(stream)
      continue
    }
    while (stream.next < stream.chunks.length && stream.dueMs <= now) {
      stream.socket.write(stream.chunks[stream.next]!, 'latin1')
      stream.next++
      stream.dueMs += stream.intervalMs
    }
    if (stream.next < stream.chunks.length) continue
    streams.delete(stream)
    stream.socket.write('0\r\n\r\n', 'latin1')
    stream.done()
  }
}

function head(contentType: string): string {
  const date = new Date(0).toUTCString()
  const fields = ANSWER_HEADERS.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `HTTP/1.1 200 OK\r\nServer: bench\r\nDate: ${date}\r\nContent-Type: ${contentType}\r\n${fields}Connection: keep-alive\r\n`
}

function fixed(contentType: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${head(contentType)}Content-Length: ${body.length}\r\n\r\n`, 'latin1'), body])
}

if (import.meta.main) process.stdout.write(`${await serve()}\n`)
