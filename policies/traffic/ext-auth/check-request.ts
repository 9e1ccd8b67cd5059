/**
 * CheckRequest (engine/proto/envoy/service/auth/v3) as Envoy fills it, written straight from the header table: it is
 * sent with every request. Lengths of the messages around the headers are not known when they begin, so they are
 * written as varints of four bytes, which every reader of protobuf takes, and filled in at the end.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import { utf8OfOctets } from '#policies/shared/text.ts'

/** What does not change from one request to the next. */
export interface CheckTemplate {
  /** AttributeContext.context_extensions, encoded. */
  readonly extensions: Buffer
  /** In lower case; null: the service gets all fields. */
  readonly allowed: ReadonlySet<string> | null
}

/** Of one request, what the service gets besides the head. */
export interface CheckParts {
  /** AttributeContext.metadata_context, the field with its tag; null: none. */
  readonly metadata: Uint8Array | null
  readonly body: Buffer | null
  readonly asBytes: boolean
  /** Tells requests apart. */
  readonly id: string
}

const LENGTH_BYTES = 4
const ROOM_MIN = 4096
/** More than this is not kept for the next request: bodies may be as long as the configuration lets them be. */
const ROOM_KEPT_MAX = 256 * 1024
const VARINT_BYTES_MAX = 5

/** Field numbers with wire type 2 (a length, then bytes), as their tags. */
const tag = (field: number): number => (field << 3) | 2

let room = Buffer.allocUnsafeSlow(ROOM_MIN)
let at = 0

/** `bytes` more fit. */
function reserve(bytes: number): void {
  if (at + bytes <= room.length) return
  const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
  room.copy(larger, 0, 0, at)
  room = larger
}

function varint(value: number): void {
  let rest = value
  while (rest > 127) {
    room[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  room[at++] = rest
}

const varintBytes = (value: number): number => (value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4)

/** Begins a message; returns where it begins. */
function open(field: number): number {
  reserve(1 + LENGTH_BYTES)
  room[at] = tag(field)
  at += 1 + LENGTH_BYTES
  return at
}

function close(begin: number): void {
  const length = at - begin
  room[begin - 4] = (length & 127) | 128
  room[begin - 3] = ((length >>> 7) & 127) | 128
  room[begin - 2] = ((length >>> 14) & 127) | 128
  room[begin - 1] = length >>> 21
}

/** Longer texts are written by the platform: a call of it costs as much as so many characters here (measured). */
const LOOP_CHARS_MAX = 200
const HIGH = /[\x80-\xff]/

/** Writes octets, one character each, for which there is room. False: not all of them are ASCII. */
function put(text: string): boolean {
  const { length } = text
  if (length > LOOP_CHARS_MAX) {
    at += room.latin1Write(text, at)
    return !HIGH.test(text)
  }
  const target = room
  const begin = at
  let all = 0
  for (let i = 0; i < length; i++) {
    const c = text.charCodeAt(i)
    all |= c
    target[begin + i] = c
  }
  at = begin + length
  return all < 128
}

/** A text of ASCII, or one whose octets are UTF-8. */
function octets(field: number, text: string): void {
  if (text === '') return
  reserve(1 + VARINT_BYTES_MAX + text.length)
  room[at++] = tag(field)
  varint(text.length)
  put(text)
}

function bytes(field: number, value: Uint8Array): void {
  reserve(1 + VARINT_BYTES_MAX + value.length)
  room[at++] = tag(field)
  varint(value.length)
  room.set(value, at)
  at += value.length
}

function raw(value: Uint8Array): void {
  reserve(value.length)
  room.set(value, at)
  at += value.length
}

/** Octets of a head, one character each, as protobuf wants a text: UTF-8. Where they are none: "!", as in Envoy. */
function utf8(text: string): string {
  return utf8OfOctets(text) === null ? text.replace(/[\x80-\xff]/g, '!') : text
}

/** One entry of HttpRequest.headers. */
function header(name: string, value: string): void {
  const inner = 2 + varintBytes(name.length) + name.length + varintBytes(value.length) + value.length
  reserve(1 + VARINT_BYTES_MAX + inner)
  room[at++] = tag(3)
  varint(inner)
  room[at++] = tag(1)
  varint(name.length)
  put(name)
  room[at++] = tag(2)
  varint(value.length)
  const begin = at
  if (put(value)) return
  // As long as it was: what replaces an octet is one, too.
  at = begin
  put(utf8(value))
}

/** Names in lower case and values of the fields of one request; several lines of a name are one value. */
const names: string[] = []
const values: string[] = []
/** More fields are looked up in a map: to compare each with all others takes as long from here on. */
const COMPARED_MAX = 64

function collect({ request }: Exchange, allowed: CheckTemplate['allowed']): void {
  names.length = 0
  values.length = 0
  const places = request.count > COMPARED_MAX ? new Map<string, number>() : null
  request.forEach((header, value) => {
    const name = header.toLowerCase()
    if (allowed !== null && !allowed.has(name)) return
    const known = places === null ? names.indexOf(name) : (places.get(name) ?? -1)
    if (known >= 0) {
      values[known] += `,${value}`
      return
    }
    places?.set(name, names.length)
    names.push(name)
    values.push(value)
  })
}

function address(field: number, ip: string, port: number): void {
  if (ip === '') return
  // Peer.address, Address.socket_address, SocketAddress: address and port_value.
  const inner = 1 + varintBytes(ip.length) + ip.length + 1 + varintBytes(port)
  reserve(4 + inner + 2 * VARINT_BYTES_MAX)
  room[at++] = tag(field)
  varint(inner + 1 + varintBytes(inner))
  room[at++] = tag(1)
  varint(inner)
  room[at++] = tag(2)
  varint(ip.length)
  put(ip)
  room[at++] = 3 << 3
  varint(port)
}

/** Of a Peer. */
function principal(text: string): void {
  octets(4, Buffer.from(text, 'utf8').toString('latin1'))
}

function peers({ client }: Exchange): void {
  const source = open(1)
  address(1, client.remoteAddress, client.remotePort)
  const peer = client.tls?.peer ?? null
  if (peer !== null) principal(peer.principal)
  close(source)
  const destination = open(2)
  address(1, client.localAddress ?? '', client.localPort)
  const own = client.tls?.localPrincipal ?? ''
  if (own !== '') principal(own)
  close(destination)
}

/** Envoy tells it with include_tls_session, agentgateway always. */
function session({ client }: Exchange): void {
  const serverName = client.tls?.serverName ?? ''
  if (serverName === '') return
  const begin = open(12)
  octets(1, serverName)
  close(begin)
}

function time(startedAt: number): void {
  const ms = performance.timeOrigin + startedAt
  const seconds = Math.floor(ms / 1000)
  const nanos = Math.round((ms - seconds * 1000) * 1e6)
  const begin = open(1)
  reserve(2 + 2 * VARINT_BYTES_MAX)
  room[at++] = 1 << 3
  varint(seconds)
  room[at++] = 2 << 3
  varint(nanos)
  close(begin)
}

function body({ body: content, asBytes }: CheckParts): void {
  const size = content?.length ?? 0
  if (size > 0) {
    reserve(1 + VARINT_BYTES_MAX)
    room[at++] = 9 << 3
    varint(size)
  }
  if (content === null || size === 0) return
  const isText = !asBytes && !content.toString('utf8').includes('\ufffd')
  bytes(isText ? 11 : 12, content)
}

/** The bytes of the CheckRequest for `ex`, the caller's own. */
export function checkRequest(ex: Exchange, { extensions, allowed }: CheckTemplate, parts: CheckParts): Buffer {
  at = 0
  const { method, originalPath, query, authority, client, startedAt } = ex
  const scheme = schemeOf(client)
  const path = utf8(originalPath + query)
  const attributes = open(1)
  peers(ex)
  const request = open(4)
  time(startedAt)
  const http = open(2)
  octets(1, parts.id)
  octets(2, method)
  // Envoy tells the start line among the fields, too.
  if (allowed === null) {
    header(':authority', authority)
    header(':method', method)
    header(':path', path)
    header(':scheme', scheme)
  }
  collect(ex, allowed)
  for (let i = 0; i < names.length; i++) header(names[i]!, values[i]!)
  if (parts.body !== null && parts.body.length > 0) header('x-envoy-auth-partial-body', 'false')
  octets(4, path)
  octets(5, authority)
  octets(6, scheme)
  octets(10, client.httpVersion === '2' ? 'HTTP/2' : `HTTP/${client.httpVersion}`)
  body(parts)
  close(http)
  close(request)
  raw(extensions)
  if (parts.metadata !== null) raw(parts.metadata)
  session(ex)
  close(attributes)
  const written = Buffer.from(room.subarray(0, at))
  if (room.length > ROOM_KEPT_MAX) room = Buffer.allocUnsafeSlow(ROOM_MIN)
  return written
}
