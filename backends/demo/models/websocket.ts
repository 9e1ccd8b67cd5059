/**
 * The server's end of a WebSocket (RFC 6455), as far as the mock provider needs it: text messages, whole or in
 * fragments, pings and the close. What is against the protocol ends the connection.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { acceptOf, CLOSE, isCloseCode, PING, PONG, PROTOCOL_ERROR, TEXT } from '#engine/http/websocket.ts'

const CONTINUATION = 0
const MESSAGE_BYTES_MAX = 1024 * 1024
const HEAD_BYTES_MIN = 2
const CONTROL_BYTES_MAX = 125
const TOO_BIG = 1009
const NORMAL = 1000
/** In the first two bytes of a frame. */
const FIN = 0x80
const RESERVED = 0x70
const OPCODE = 0x0f
const MASKED = 0x80

export interface TextSocket {
  send(text: string): void
  close(code: number): void
}

/**
 * Takes the upgrade, with the first of the protocols that are offered, and calls `heard` with each message. `socket`
 * has a listener for errors.
 */
export function acceptWebSocket(
  { headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  heard: (text: string, socket: TextSocket) => void
): TextSocket {
  const protocol = String(headers['sec-websocket-protocol'] ?? '')
    .split(',')[0]!
    .trim()
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${acceptOf(String(headers['sec-websocket-key']))}\r\n` +
      `${protocol === '' ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`
  )
  const out: TextSocket = {
    send: (text) => write(socket, TEXT, Buffer.from(text)),
    close: (code) => end(socket, code)
  }
  const reader = new Reader(socket, (text) => heard(text, out))
  socket.on('data', (chunk: Buffer) => reader.read(chunk))
  if (head.length > 0) reader.read(head)
  return out
}

class Reader {
  readonly #socket: Duplex
  readonly #heard: (text: string) => void
  /** Of a frame that is not whole: joined only when as much is there as it needs. */
  #chunks: Buffer[] = []
  #held = 0
  #needed = HEAD_BYTES_MIN
  /** Fragments of a message that has not ended. */
  #parts: Buffer[] = []
  #partBytes = 0
  #isInMessage = false

  constructor(socket: Duplex, heard: (text: string) => void) {
    this.#socket = socket
    this.#heard = heard
  }

  read(chunk: Buffer): void {
    if (this.#socket.writableEnded) return
    this.#chunks.push(chunk)
    this.#held += chunk.length
    if (this.#held < this.#needed) return
    let bytes = Buffer.concat(this.#chunks)
    while (!this.#socket.writableEnded) {
      const frame = frameOf(bytes)
      if ('fault' in frame) end(this.#socket, frame.fault)
      else if ('needed' in frame) {
        this.#chunks = [bytes]
        this.#held = bytes.length
        this.#needed = frame.needed
        return
      } else {
        bytes = bytes.subarray(frame.bytes)
        this.#take(frame)
      }
    }
  }

  #take({ opcode, isFinal, payload }: Frame): void {
    if (opcode === PING) write(this.#socket, PONG, payload)
    else if (opcode === CLOSE) end(this.#socket, codeOf(payload))
    else if (opcode === TEXT || opcode === CONTINUATION) this.#collect(opcode, isFinal, payload)
    else if (opcode !== PONG) end(this.#socket, PROTOCOL_ERROR)
  }

  #collect(opcode: number, isFinal: boolean, payload: Buffer): void {
    this.#partBytes += payload.length
    // Fragments without bytes are no reason to keep anything.
    if (payload.length > 0) this.#parts.push(payload)
    if ((opcode === CONTINUATION) !== this.#isInMessage) end(this.#socket, PROTOCOL_ERROR)
    else if (this.#partBytes > MESSAGE_BYTES_MAX) end(this.#socket, TOO_BIG)
    else this.#isInMessage = !isFinal
    if (!isFinal || this.#socket.writableEnded) return
    const text = Buffer.concat(this.#parts).toString()
    this.#parts = []
    this.#partBytes = 0
    this.#heard(text)
  }
}

interface Frame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly payload: Buffer
  /** The whole frame, its head too. */
  readonly bytes: number
}

/** The first frame of `bytes`; or how many bytes it needs, or the code that ends the connection. */
function frameOf(bytes: Buffer): Frame | { readonly needed: number } | { readonly fault: number } {
  if (bytes.length < HEAD_BYTES_MIN) return { needed: HEAD_BYTES_MIN }
  const [first, second] = [bytes[0]!, bytes[1]!]
  const opcode = first & OPCODE
  const isFinal = (first & FIN) !== 0
  const short = second & ~MASKED
  // Clients mask; control frames are short and whole; extensions were not agreed on.
  const isControl = opcode >= CLOSE
  const isWrong = (first & RESERVED) !== 0 || (second & MASKED) === 0
  if (isWrong || (isControl && (!isFinal || short > CONTROL_BYTES_MAX))) return { fault: PROTOCOL_ERROR }
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
  const start = 2 + lengthBytes + 4
  if (bytes.length < start) return { needed: start }
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (length > MESSAGE_BYTES_MAX) return { fault: TOO_BIG }
  if (bytes.length < start + length) return { needed: start + length }
  const payload = Buffer.from(bytes.subarray(start, start + length))
  for (let i = 0; i < length; i++) payload[i]! ^= bytes[start - 4 + (i % 4)]!
  return { opcode, isFinal, payload, bytes: start + length }
}

/** What is answered to a close. */
function codeOf(payload: Buffer): number {
  if (payload.length === 0) return NORMAL
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0)
  return isCloseCode(code) ? code : PROTOCOL_ERROR
}

function write(socket: Duplex, opcode: number, payload: Buffer): void {
  if (socket.writableEnded || socket.destroyed) return
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = FIN | opcode
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(length, 2)
  else if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2)
  socket.write(Buffer.concat([head, payload]))
}

function end(socket: Duplex, code: number): void {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  write(socket, CLOSE, payload)
  socket.end()
}
