/**
 * The PROXY protocol, versions 1 and 2 (haproxy.org, doc/proxy-protocol.txt): what a proxy says before the
 * first byte of a connection about who is behind it. Pure: reading and writing of the header only.
 */
import { isIPv4, isIPv6 } from 'node:net'

/** Section 2.1: the longest line of version 1, CRLF included. */
const V1_BYTES_MAX = 107
/** Fixed part of version 2: signature, version and command, family and protocol, length of the rest. */
const V2_FIXED = 16
/** Of version 2 with its TLVs; the field could say 64 KiB. */
const V2_BYTES_MAX = 4096
/** What a caller must be able to keep before it has an answer other than 'more'. */
export const PROXY_HEADER_BYTES_MAX = V2_BYTES_MAX

const V1_SIGNATURE = Buffer.from('PROXY ', 'latin1')
const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** High bits of the 14th byte. */
const INET = 1
const INET6 = 2
const UNIX = 3
/** Low bits of it. */
const STREAM = 1
/** Bytes of two addresses and two ports, by family. */
const ADDRESS_BYTES = [0, 12, 36, 216] as const

export type ProxyVersions = 'v1' | 'v2' | 'all'

export interface ProxyHeader {
  /** Where the header ends. */
  readonly end: number
  /** Null: the connection is the proxy's own (LOCAL), or it cannot or will not say whose it is. */
  readonly source: { readonly address: string; readonly port: number } | null
}

/** 'none': these bytes begin otherwise. The others say what is wrong, in words for a log line. */
export const PROXY_FAULTS = {
  none: 'there is no PROXY header',
  version: 'a PROXY header of a version that is not accepted',
  malformed: 'a malformed PROXY header',
  'too-long': 'a PROXY header of more than 4096 bytes'
} as const

export type ProxyFault = keyof typeof PROXY_FAULTS

/**
 * `bytes[start, end)` is everything that has arrived so far. 'more': it may become a header. An answer
 * other than 'more' does not change when more bytes follow.
 */
export function readProxyHeader(
  bytes: Buffer,
  start: number,
  end: number,
  versions: ProxyVersions
): ProxyHeader | ProxyFault | 'more' {
  const signature = bytes[start] === V1_SIGNATURE[0] ? V1_SIGNATURE : V2_SIGNATURE
  for (let i = 0; i < signature.length; i++) {
    if (start + i >= end) return 'more'
    if (bytes[start + i] !== signature[i]) return 'none'
  }
  const isV1 = signature === V1_SIGNATURE
  if (versions !== 'all' && isV1 !== (versions === 'v1')) return 'version'
  return isV1 ? readV1(bytes, start, end) : readV2(bytes, start, end)
}

function readV1(bytes: Buffer, start: number, end: number): ProxyHeader | ProxyFault | 'more' {
  const limit = Math.min(end, start + V1_BYTES_MAX)
  let at = start
  while (at < limit && bytes[at] !== 13) at++
  if (at + 1 >= limit) return limit < end || at - start >= V1_BYTES_MAX - 1 ? 'malformed' : 'more'
  if (bytes[at + 1] !== 10) return 'malformed'
  const [, family, source, destination, sourcePort, destinationPort, ...more] = bytes
    .latin1Slice(start, at)
    .split(' ') as (string | undefined)[]
  // What follows UNKNOWN is to be ignored (section 2.1).
  if (family === 'UNKNOWN') return { end: at + 2, source: null }
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIPv6 : null
  if (isAddress === null || more.length > 0) return 'malformed'
  const from = portOf(sourcePort)
  if (from < 0 || portOf(destinationPort) < 0) return 'malformed'
  if (!isAddress(source ?? '') || !isAddress(destination ?? '')) return 'malformed'
  return { end: at + 2, source: { address: source!.toLowerCase(), port: from } }
}

function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%')
}

/** A decimal number without leading zeros, or -1. */
function portOf(text = ''): number {
  return /^(?:0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535 ? Number(text) : -1
}

function readV2(bytes: Buffer, start: number, end: number): ProxyHeader | ProxyFault | 'more' {
  if (start + 12 >= end) return 'more'
  const version = bytes[start + 12]! >> 4
  const command = bytes[start + 12]! & 15
  if (version !== 2 || command > 1) return 'malformed'
  if (start + 13 >= end) return 'more'
  const family = bytes[start + 13]! >> 4
  const protocol = bytes[start + 13]! & 15
  if (family > UNIX || protocol > 2) return 'malformed'
  if (start + V2_FIXED > end) return 'more'
  const length = bytes.readUInt16BE(start + 14)
  if (command === 1 && length < ADDRESS_BYTES[family]!) return 'malformed'
  if (V2_FIXED + length > V2_BYTES_MAX) return 'too-long'
  const after = start + V2_FIXED + length
  if (after > end) return 'more'
  // LOCAL, datagrams, unix sockets and what has no family: the connection's own addresses hold (section 2.2).
  const hasAddresses = command === 1 && protocol === STREAM && (family === INET || family === INET6)
  const at = start + V2_FIXED
  if (!hasAddresses) return { end: after, source: null }
  return family === INET
    ? { end: after, source: { address: bytes.subarray(at, at + 4).join('.'), port: bytes.readUInt16BE(at + 8) } }
    : { end: after, source: { address: ipv6Of(bytes, at), port: bytes.readUInt16BE(at + 32) } }
}

/** As the rest of the program spells it (RFC 5952; an IPv4 address inside is named as what it is). */
function ipv6Of(bytes: Buffer, at: number): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(at + 2 * i))
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return bytes.subarray(at + 12, at + 16).join('.')
  return compressed(groups)
}

/** The longest run of two or more zeros becomes "::", the first of them when two are as long. */
function compressed(groups: readonly number[]): string {
  let best = -1
  let length = 1
  for (let i = 0; i < groups.length; i++) {
    let end = i
    while (groups[end] === 0) end++
    if (end - i > length) {
      best = i
      length = end - i
    }
  }
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':')
  if (best < 0) return text(groups)
  return `${text(groups.slice(0, best))}::${text(groups.slice(best + length))}`
}

/** Both ends of a connection as the header names them: address literals, '' when there is none (unix sockets). */
export interface ProxyEnds {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
}

/** The header to send, one character per byte. */
export function writeProxyHeader(version: 'v1' | 'v2', ends: ProxyEnds): string {
  const { remoteAddress, remotePort, localAddress, localPort } = ends
  const known = remoteAddress !== '' && localAddress !== ''
  const isV4 = isIPv4(remoteAddress) && isIPv4(localAddress)
  if (version === 'v1') {
    if (!known) return 'PROXY UNKNOWN\r\n'
    const addresses = isV4 ? [remoteAddress, localAddress] : [mapped(remoteAddress), mapped(localAddress)]
    return `PROXY ${isV4 ? 'TCP4' : 'TCP6'} ${addresses.join(' ')} ${remotePort} ${localPort}\r\n`
  }
  const family = !known ? 0 : isV4 ? INET : INET6
  const bytes = Buffer.alloc(V2_FIXED + ADDRESS_BYTES[family]!)
  V2_SIGNATURE.copy(bytes)
  bytes[12] = 0x21
  bytes[13] = known ? (family << 4) | STREAM : 0
  bytes.writeUInt16BE(ADDRESS_BYTES[family]!, 14)
  if (known) {
    const size = isV4 ? 4 : 16
    writeAddress(bytes, V2_FIXED, remoteAddress, isV4)
    writeAddress(bytes, V2_FIXED + size, localAddress, isV4)
    bytes.writeUInt16BE(remotePort, V2_FIXED + 2 * size)
    bytes.writeUInt16BE(localPort, V2_FIXED + 2 * size + 2)
  }
  return bytes.latin1Slice()
}

/** One family for both ends: an IPv4 address among IPv6 ones is mapped; zones mean nothing elsewhere. */
function mapped(address: string): string {
  return isIPv4(address) ? `::ffff:${address}` : address.replace(/%.*$/, '')
}

function writeAddress(bytes: Buffer, at: number, address: string, isV4: boolean): void {
  if (isV4) {
    address.split('.').forEach((part, i) => {
      bytes[at + i] = Number(part)
    })
    return
  }
  // The dotted end of a mapped address is two groups.
  const plain = mapped(address).replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':')
  )
  const [head = '', tail] = plain.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const first = groups(head)
  const last = tail === undefined ? [] : groups(tail)
  first.forEach((group, i) => void bytes.writeUInt16BE(group, at + 2 * i))
  last.forEach((group, i) => void bytes.writeUInt16BE(group, at + 16 - 2 * last.length + 2 * i))
}
