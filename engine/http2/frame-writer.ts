/** Frames as latin1 text, a character per byte: so small messages leave (docs/design/006-how-bytes-leave.md). */
import {
  ACK,
  CONTINUATION,
  END_HEADERS,
  GOAWAY,
  HEADERS,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE
} from './protocol.ts'

/** The nine bytes before every payload (RFC 9113 section 4.1). */
export function frameHead(length: number, type: number, flags: number, stream: number): string {
  return String.fromCharCode(
    length >> 16,
    (length >> 8) & 255,
    length & 255,
    type,
    flags,
    stream >>> 24,
    (stream >> 16) & 255,
    (stream >> 8) & 255,
    stream & 255
  )
}

/** HEADERS, and CONTINUATIONs where the block is longer than a frame. `flags`: END_STREAM or 0. */
export function headersFrame(block: string, flags: number, stream: number, frameBytesMax: number): string {
  const { length } = block
  if (length <= frameBytesMax) return frameHead(length, HEADERS, flags | END_HEADERS, stream) + block
  let out = frameHead(frameBytesMax, HEADERS, flags, stream) + block.slice(0, frameBytesMax)
  for (let at = frameBytesMax; at < length; at += frameBytesMax) {
    const part = block.slice(at, at + frameBytesMax)
    out += frameHead(part.length, CONTINUATION, at + part.length === length ? END_HEADERS : 0, stream) + part
  }
  return out
}

export function resetFrame(stream: number, code: number): string {
  return frameHead(4, RST_STREAM, 0, stream) + uint32(code)
}

/** `settings`: identifiers and values in turn. */
export function settingsFrame(settings: readonly number[]): string {
  let payload = ''
  for (let i = 0; i < settings.length; i += 2) {
    payload += String.fromCharCode(settings[i]! >> 8, settings[i]! & 255) + uint32(settings[i + 1]!)
  }
  return frameHead(payload.length, SETTINGS, 0, 0) + payload
}

export const SETTINGS_ACK = frameHead(0, SETTINGS, ACK, 0)

/** `payload`: eight bytes as latin1 text. */
export function pingFrame(isAck: boolean, payload: string): string {
  return frameHead(8, PING, isAck ? ACK : 0, 0) + payload
}

export function goawayFrame(lastStream: number, code: number): string {
  return frameHead(8, GOAWAY, 0, 0) + uint32(lastStream) + uint32(code)
}

export function windowUpdateFrame(stream: number, increment: number): string {
  return frameHead(4, WINDOW_UPDATE, 0, stream) + uint32(increment)
}

function uint32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255)
}
