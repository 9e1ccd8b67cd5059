/** The client that speaks HTTP/2: one request on the first stream, whose body waits for the gateway's windows. */
import { type FrameHandler, FrameReader } from '#engine/http2/frame-reader.ts'
import { frameHead, headersFrame, SETTINGS_ACK, settingsFrame } from '#engine/http2/frame-writer.ts'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import { literalField } from '#engine/http2/hpack-encoder.ts'
import {
  DATA,
  DEFAULT_FRAME_BYTES,
  DEFAULT_TABLE_BYTES,
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  END_STREAM,
  INITIAL_WINDOW_SIZE,
  NO_ERROR,
  PREFACE,
  PROTOCOL_ERROR
} from '#engine/http2/protocol.ts'
import type { DryRequest } from './request.ts'
import type { SimulatedAnswer, SimulatedClient } from './simulated-client.ts'
import type { SimulatedWire } from './simulated-wire.ts'

const STREAM = 1
const BLOCK_BYTES_MAX = 1024 * 1024
const SETTING_BYTES = 6
/** They belong to a connection of HTTP/1 (RFC 9113 section 8.2.2); clients leave them out. */
const OF_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'host']
const REASONS: Readonly<Record<number, string>> = {
  1: 'PROTOCOL_ERROR',
  7: 'REFUSED_STREAM',
  9: 'COMPRESSION_ERROR',
  11: 'ENHANCE_YOUR_CALM'
}

export class SimulatedHttp2Client implements SimulatedClient, FrameHandler {
  broken: string | null = null
  readonly #wire: SimulatedWire
  readonly #request: DryRequest
  readonly #reader = new FrameReader(this, DEFAULT_FRAME_BYTES, BLOCK_BYTES_MAX)
  readonly #decoder = new HpackDecoder(DEFAULT_TABLE_BYTES)
  readonly #body: Buffer[] = []
  #status = 0
  /** Of the request's body. */
  #sentBytes = 0
  #isSent = false
  #streamWindow = DEFAULT_WINDOW
  #connectionWindow = DEFAULT_WINDOW
  #initialWindow = DEFAULT_WINDOW
  #isDue = false

  constructor(wire: SimulatedWire, request: DryRequest) {
    this.#wire = wire
    this.#request = request
    wire.onWritten = (bytes) => void this.#reader.execute(bytes, 0, bytes.length)
  }

  get answer(): SimulatedAnswer | null {
    return this.#status === 0 ? null : { status: this.#status, body: Buffer.concat(this.#body) }
  }

  begin(): void {
    const { body } = this.#request
    const flags = body === null ? END_STREAM : 0
    const head = headersFrame(blockOf(this.#request), flags, STREAM, DEFAULT_FRAME_BYTES)
    this.#feed(`${PREFACE}${settingsFrame([ENABLE_PUSH, 0])}${head}`)
    this.#sendBody()
  }

  #feed(text: string): void {
    this.#wire.feed(Buffer.from(text, 'latin1'))
  }

  #sendBody(): void {
    const { body } = this.#request
    while (body !== null && !this.#isSent && !this.#wire.isClosed) {
      const room = Math.min(DEFAULT_FRAME_BYTES, this.#streamWindow, this.#connectionWindow)
      const part = body.subarray(this.#sentBytes, this.#sentBytes + Math.max(0, room))
      if (part.length === 0 && body.length > 0) return
      this.#sentBytes += part.length
      this.#streamWindow -= part.length
      this.#connectionWindow -= part.length
      this.#isSent = this.#sentBytes === body.length
      this.#feed(frameHead(part.length, DATA, this.#isSent ? END_STREAM : 0, STREAM) + part.latin1Slice())
    }
  }

  /** Not inside of what the gateway writes. */
  #soon(text: string): number {
    setImmediate(() => {
      if (text !== '' && !this.#wire.isClosed) this.#feed(text)
    })
    if (!this.#isDue) {
      this.#isDue = true
      setImmediate(() => {
        this.#isDue = false
        this.#sendBody()
      })
    }
    return NO_ERROR
  }

  // --- frames of the gateway ---

  onHeaders(_stream: number, _endStream: boolean, bytes: Buffer, start: number, end: number): number {
    return this.#decoder.decode(bytes, start, end, {
      field: ({ name, value }) => {
        if (name === ':status' && Number(value) >= 200) this.#status = Number(value)
      }
    })
  }

  onData(_stream: number, bytes: Buffer, start: number, end: number): number {
    this.#body.push(Buffer.from(bytes.subarray(start, end)))
    return NO_ERROR
  }

  onReset(_stream: number, code: number): number {
    // Behind a whole answer it says that the rest of the body is not wanted.
    if (this.#status === 0) this.broken = `the stream would be reset (${reasonOf(code)})`
    return NO_ERROR
  }

  onGoaway(_lastStream: number, code: number): number {
    if (code !== NO_ERROR) this.broken ??= `the connection would end (GOAWAY, ${reasonOf(code)})`
    return NO_ERROR
  }

  onSettings(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at += SETTING_BYTES) {
      if (bytes.readUInt16BE(at) !== INITIAL_WINDOW_SIZE) continue
      const window = bytes.readUInt32BE(at + 2)
      this.#streamWindow += window - this.#initialWindow
      this.#initialWindow = window
    }
    return this.#soon(SETTINGS_ACK)
  }

  onWindowUpdate(stream: number, increment: number): number {
    if (stream === 0) this.#connectionWindow += increment
    else this.#streamWindow += increment
    return this.#soon('')
  }

  onSettingsAck(): number {
    return NO_ERROR
  }

  onPing(): number {
    return NO_ERROR
  }

  onIdle(): number {
    return NO_ERROR
  }

  onStreamError(): number {
    return PROTOCOL_ERROR
  }
}

const reasonOf = (code: number): string => REASONS[code] ?? `error ${code}`

/** A field of `Host` that was typed stands for that of the URL, as with curl. */
function blockOf({ method, isTls, authority, target, headers, body }: DryRequest): string {
  const has = (name: string) => headers.some(([own]) => own.toLowerCase() === name)
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? authority
  const pseudo = method === 'CONNECT' ? [] : [field(':scheme', isTls ? 'https' : 'http'), field(':path', target)]
  const own = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    const isDropped = OF_CONNECTION.includes(lower) || (lower === 'te' && value !== 'trailers')
    return isDropped ? [] : [field(lower, value)]
  })
  const length = body === null || has('content-length') ? [] : [field('content-length', String(body.length))]
  return [field(':method', method), ...pseudo, field(':authority', host), ...own, ...length].join('')
}

const field = (name: string, value: string): string => literalField(name, Buffer.from(value).latin1Slice())
