/** A client of HTTP/2 for tests: exact frames, also those that no library would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type FrameHandler, FrameReader } from '#engine/http2/frame-reader.ts'
import { frameHead, headersFrame, SETTINGS_ACK, settingsFrame } from '#engine/http2/frame-writer.ts'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import { DATA, END_STREAM, PREFACE } from '#engine/http2/protocol.ts'

/** What a stream has received. */
export interface Received {
  status: number
  fields: [string, string][]
  interim: number[]
  trailers: [string, string][]
  body: string
  ended: boolean
  /** Code of RST_STREAM. */
  reset: number | null
}

export class H2Client implements FrameHandler {
  readonly socket: Socket
  readonly streams = new Map<number, Received>()
  readonly encoder = new HpackEncoder()
  /** Codes of GOAWAY, with the last stream. */
  readonly goaways: { last: number; code: number }[] = []
  readonly pings: string[] = []
  settings: number[] = []
  windowUpdates = 0
  ended = false
  /** Bytes of DATA that were received. */
  bytes = 0
  readonly #reader = new FrameReader(this, 0xffffff, 1 << 20)
  readonly #decoder = new HpackDecoder(4096)
  #waiting: { done: () => boolean; resolve: () => void }[] = []

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      const code = this.#reader.execute(chunk, 0, chunk.length)
      if (code !== 0) throw new Error(`what the server sent breaks the connection: ${code}`)
      this.#check()
    })
    const end = () => {
      this.ended = true
      this.#check()
    }
    socket.on('close', end)
    socket.on('end', end)
    // A reset is one way for a connection to end.
    socket.on('error', end)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Begins a request; fields as given. */
  request(id: number, fields: readonly (readonly [string, string])[], endStream = true): void {
    this.send(headersFrame(this.block(fields), endStream ? END_STREAM : 0, id, 16_384))
  }

  block(fields: readonly (readonly [string, string])[]): string {
    let block = this.encoder.begin()
    // The encoder is that of the gateway, which has no "te" of its own.
    for (const [name, value] of fields) block += name === 'te' ? literal(name, value) : this.encoder.field(name, value)
    return block
  }

  /** Likewise, exactly as they are: names in any case, and twice. */
  requestRaw(id: number, fields: readonly (readonly [string, string])[], endStream = true): void {
    let block = ''
    for (const [name, value] of fields) block += literal(name, value)
    this.send(headersFrame(block, endStream ? END_STREAM : 0, id, 16_384))
  }

  get(id: number, path = '/', ...more: [string, string][]): void {
    this.request(id, [...requestFields('GET', path), ...more])
  }

  data(id: number, text: string, endStream = false): void {
    this.send(frameHead(text.length, DATA, endStream ? END_STREAM : 0, id) + text)
  }

  stream(id: number): Received {
    let stream = this.streams.get(id)
    if (stream === undefined) {
      stream = { status: 0, fields: [], interim: [], trailers: [], body: '', ended: false, reset: null }
      this.streams.set(id, stream)
    }
    return stream
  }

  /** Resolves when `done` holds; rejects when the connection ends before. */
  async until(done: (client: this) => boolean): Promise<void> {
    await this.#wait(() => done(this) || this.ended)
    if (!done(this)) throw new Error(`the connection ended first: ${JSON.stringify(this.goaways)}`)
  }

  /** The whole answer, or the reset. */
  async answer(id: number): Promise<Received> {
    await this.until(() => this.stream(id).ended || this.stream(id).reset !== null)
    return this.stream(id)
  }

  async untilEnd(): Promise<void> {
    await this.#wait(() => this.ended)
  }

  close(): void {
    this.socket.destroy()
  }

  #wait(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ done, resolve }))
  }

  #check(): void {
    for (const waiter of this.#waiting) if (waiter.done()) waiter.resolve()
    this.#waiting = this.#waiting.filter((waiter) => !waiter.done())
  }

  // --- frames ---

  onHeaders(id: number, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    const stream = this.stream(id)
    const fields: [string, string][] = []
    const code = this.#decoder.decode(bytes, start, end, { field: ({ name, value }) => fields.push([name, value]) })
    if (code !== 0) return code
    const status = Number(fields.find(([name]) => name === ':status')?.[1] ?? 0)
    if (status === 0) stream.trailers = fields
    else if (status < 200) stream.interim.push(status)
    else {
      stream.status = status
      stream.fields = fields.slice(1)
    }
    stream.ended ||= endStream
    return 0
  }

  onData(id: number, bytes: Buffer, start: number, end: number, _flow: number, endStream: boolean): number {
    const stream = this.stream(id)
    stream.body += bytes.latin1Slice(start, end)
    stream.ended ||= endStream
    this.bytes += end - start
    return 0
  }

  onReset(id: number, code: number): number {
    this.stream(id).reset = code
    return 0
  }

  onSettings(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at += 6) this.settings.push(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2))
    this.send(SETTINGS_ACK)
    return 0
  }

  onSettingsAck(): number {
    return 0
  }

  onPing(isAck: boolean, bytes: Buffer, start: number): number {
    this.pings.push(`${isAck ? 'ack ' : ''}${bytes.latin1Slice(start, start + 8)}`)
    return 0
  }

  onGoaway(last: number, code: number): number {
    this.goaways.push({ last, code })
    return 0
  }

  onWindowUpdate(): number {
    this.windowUpdates++
    return 0
  }

  onIdle(): number {
    return 0
  }

  onStreamError(): number {
    return 0
  }
}

/** RFC 7541 section 6.2.2. */
function literal(name: string, value: string): string {
  return `\0${lengthOf(name)}${name}${lengthOf(value)}${value}`
}

export function requestFields(method: string, path: string): [string, string][] {
  return [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'example.com']
  ]
}

/** `settings`: identifiers and values in turn. */
export async function h2Client(port: number, settings: readonly number[] = []): Promise<H2Client> {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.setNoDelay(true)
  const client = new H2Client(socket)
  client.send(PREFACE + settingsFrame(settings))
  return client
}

/** As HPACK writes it, up to 16 KiB and more (RFC 7541 section 5.1). */
function lengthOf(text: string): string {
  const rest = text.length - 127
  if (rest < 0) return String.fromCharCode(text.length)
  return String.fromCharCode(127, (rest & 127) | 128, ((rest >> 7) & 127) | 128, rest >> 14)
}
