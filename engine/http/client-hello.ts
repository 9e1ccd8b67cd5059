/**
 * The first message of a TLS connection, read without ending TLS: which server the client wants
 * (SNI, RFC 6066 section 3) and which protocols it speaks (ALPN, RFC 7301 section 3.1). Records:
 * RFC 8446 section 5.1; the message: section 4.1.2. With Encrypted ClientHello the outer name
 * is read: the inner one is encrypted.
 */
import { HOST_LENGTH_MAX, isHostName } from './authority.ts'

/** Bytes of the handshake message that are waited for. Real ones have from 200 to 2 000. */
const MESSAGE_BYTES_MAX = 16 * 1024
/** Records that it may come in: asked again with every byte that arrives, the answer stays cheap. */
const RECORDS_MAX = 64
const RECORD_HEADER = 5
const MESSAGE_HEADER = 4
/** Bytes that a caller must be able to keep before it has an answer other than 'more'. */
export const CLIENT_HELLO_BYTES_MAX = MESSAGE_BYTES_MAX + MESSAGE_HEADER + RECORDS_MAX * RECORD_HEADER

const PROTOCOLS_MAX = 32

const ALERT = 21
const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const ALPN = 16
const HOST_NAME = 0

export interface ClientHello {
  /** In lower case, without a final dot; '' when the client names none. */
  readonly serverName: string
  /** In the client's order; no more than the first 32. */
  readonly alpn: readonly string[]
}

/** Why the bytes are no ClientHello, in words for a log line. */
export const CLIENT_HELLO_FAULTS = {
  http: 'clear text (HTTP?) on a port of TLS',
  proxy: 'a PROXY header that no setting announces',
  alert: 'a TLS alert in the place of a ClientHello',
  sslv2: 'an SSLv2 ClientHello',
  'not-tls': 'no TLS',
  'too-long': 'a ClientHello of more than 16 KiB or 64 records',
  malformed: 'a malformed ClientHello',
  'bad-server-name': 'a server name that is no host name'
} as const

export type ClientHelloFault = keyof typeof CLIENT_HELLO_FAULTS

/**
 * `bytes[start, end)` is everything that the client has sent so far. 'more': it may become a
 * ClientHello. An answer other than 'more' does not change when more bytes follow.
 */
export function readClientHello(bytes: Buffer, start: number, end: number): ClientHello | ClientHelloFault | 'more' {
  if (start === end) return 'more'
  if (bytes[start] !== HANDSHAKE) return notTls(bytes, start, end)
  // The length of the message and where the last of its records ends, from headers alone.
  let at = start
  let length = -1
  let gathered = 0
  for (let records = 0; gathered < MESSAGE_HEADER || gathered < MESSAGE_HEADER + length; records++) {
    if (records === RECORDS_MAX) return 'too-long'
    if (at < end && bytes[at] !== HANDSHAKE) return 'malformed'
    if (at + 1 < end && bytes[at + 1] !== 3) return records === 0 ? 'not-tls' : 'malformed'
    if (at + RECORD_HEADER > end) return 'more'
    const size = uint16(bytes, at + 3)
    // An empty record carries no handshake; 2^14 is the most that one holds (RFC 8446 section 5.1).
    if (size === 0 || size > 16_384) return 'malformed'
    if (gathered === 0 && at + RECORD_HEADER < end && bytes[at + RECORD_HEADER] !== CLIENT_HELLO) return 'malformed'
    const next = at + RECORD_HEADER + size
    if (next <= end) gathered += size
    if (length < 0) {
      const known = messageLength(bytes, start, Math.min(next, end))
      if (known > MESSAGE_BYTES_MAX) return 'too-long'
      length = known
    }
    if (next > end) return 'more'
    at = next
  }
  const first = uint16(bytes, start + 3)
  if (first >= MESSAGE_HEADER + length) {
    const from = start + RECORD_HEADER + MESSAGE_HEADER
    return readMessage(bytes, from, from + length)
  }
  const message = gather(bytes, start, MESSAGE_HEADER + length)
  return readMessage(message, MESSAGE_HEADER, message.length)
}

/** Other protocols that arrive on a TLS port, recognized so that a log line can say what to fix. */
function notTls(bytes: Buffer, start: number, end: number): ClientHelloFault | 'more' {
  const first = bytes[start]!
  if (first === ALERT) return 'alert'
  if (first === 0x0d) return 'proxy'
  if (first === 0x50) {
    // POST, PUT, PATCH, PRI ... or "PROXY".
    for (let i = 1; i < 4; i++) {
      if (start + i >= end) return 'more'
      if (bytes[start + i] !== 'PROX'.charCodeAt(i)) return 'http'
    }
    return 'proxy'
  }
  if (first >= 0x41 && first <= 0x5a) return 'http'
  // A two-byte length with its highest bit set, then the message's type (RFC 5246 appendix E.2).
  if ((first & 0x80) === 0) return 'not-tls'
  if (start + 2 >= end) return 'more'
  return bytes[start + 2] === CLIENT_HELLO ? 'sslv2' : 'not-tls'
}

/** The length that the message's header names, its four bytes perhaps over several records; -1: not there yet. */
function messageLength(bytes: Buffer, start: number, end: number): number {
  let length = 0
  let seen = 0
  for (let at = start; at + RECORD_HEADER < end; ) {
    const next = at + RECORD_HEADER + uint16(bytes, at + 3)
    for (let i = at + RECORD_HEADER; i < next && i < end; i++) {
      if (seen > 0) length = length * 256 + bytes[i]!
      if (++seen === MESSAGE_HEADER) return length
    }
    at = next
  }
  return -1
}

/** The message out of several records. Rare: one copy, of a bounded size. */
function gather(bytes: Buffer, start: number, length: number): Buffer {
  const message = Buffer.alloc(length)
  for (let at = start, filled = 0; filled < length; ) {
    const from = at + RECORD_HEADER
    const size = uint16(bytes, at + 3)
    const taken = Math.min(size, length - filled)
    message.set(bytes.subarray(from, from + taken), filled)
    filled += taken
    at = from + size
  }
  return message
}

/** The body of a ClientHello, [at, end). */
function readMessage(bytes: Buffer, start: number, end: number): ClientHello | ClientHelloFault {
  // legacy_version and random, then three vectors: session_id, cipher_suites, compression_methods.
  let at = start + 34
  if (at >= end || bytes[at]! > 32) return 'malformed'
  at += 1 + bytes[at]!
  if (at + 2 > end) return 'malformed'
  at += 2 + uint16(bytes, at)
  if (at >= end) return 'malformed'
  at += 1 + bytes[at]!
  if (at === end) return { serverName: '', alpn: [] }
  if (at + 2 > end || at + 2 + uint16(bytes, at) !== end) return 'malformed'
  at += 2
  let name: string | null = null
  let alpn: string[] | null = null
  while (at < end) {
    if (at + 4 > end) return 'malformed'
    const type = uint16(bytes, at)
    const from = at + 4
    at = from + uint16(bytes, at + 2)
    if (at > end) return 'malformed'
    if (type === SERVER_NAME) {
      // No extension may come twice (RFC 8446 section 4.2).
      const read: string | null = name === null ? readServerName(bytes, from, at) : null
      if (read === null) return 'malformed'
      if (read === '') return 'bad-server-name'
      name = read
    } else if (type === ALPN) {
      const read: string[] | null = alpn === null ? readAlpn(bytes, from, at) : null
      if (read === null) return 'malformed'
      alpn = read
    }
  }
  return { serverName: name ?? '', alpn: alpn ?? [] }
}

/** The one host name of a ServerNameList; '' when it is no host name, null when the list is broken. */
function readServerName(bytes: Buffer, from: number, end: number): string | null {
  if (from + 2 > end || from + 2 + uint16(bytes, from) !== end) return null
  let name: string | null = null
  for (let at = from + 2; at < end; ) {
    if (at + 3 > end) return null
    const start = at + 3
    const isHost = bytes[at] === HOST_NAME
    at = start + uint16(bytes, at + 1)
    if (at > end || at === start) return null
    // Other types than names of hosts were never given out; two names of one type are forbidden.
    if (!isHost) continue
    if (name !== null) return null
    name = at - start > HOST_LENGTH_MAX + 1 ? '' : plainName(bytes.latin1Slice(start, at))
  }
  return name
}

/** The name as hosts are compared here, or '' when it is invalid. */
function plainName(text: string): string {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return isHostName(name) ? name.toLowerCase() : ''
}

/** A ProtocolNameList, or null when it is broken. */
function readAlpn(bytes: Buffer, from: number, end: number): string[] | null {
  if (from + 4 > end || from + 2 + uint16(bytes, from) !== end) return null
  const names: string[] = []
  for (let at = from + 2; at < end; ) {
    const start = at + 1
    at = start + bytes[at]!
    if (at > end || at === start) return null
    if (names.length < PROTOCOLS_MAX) names.push(bytes.latin1Slice(start, at))
  }
  return names
}

function uint16(bytes: Buffer, at: number): number {
  return bytes[at]! * 256 + bytes[at + 1]!
}
