/**
 * ip and cidr, with the functions of the Kubernetes CEL libraries. An IPv4 address inside IPv6
 * (::ffff:a.b.c.d), as sockets for both families show it, is IPv4.
 */
import { isIP } from 'node:net'
import { CelError } from '#engine/cel/errors.ts'
import { BOOL, type Declared, fn, INT, invalid, method, STRING, type } from '#engine/cel/functions.ts'
import { Opaque, type Value } from '#engine/cel/values.ts'

export class Ip extends Opaque {
  readonly type = 'net.IP'
  readonly bits: bigint
  /** 4 or 6. */
  readonly family: 4 | 6

  constructor(bits: bigint, family: 4 | 6) {
    super()
    this.bits = bits
    this.family = family
  }

  equals(other: Opaque): boolean {
    return other instanceof Ip && other.bits === this.bits && other.family === this.family
  }

  toString(): string {
    return this.family === 4 ? formatV4(this.bits) : formatV6(this.bits)
  }
}

export class Cidr extends Opaque {
  readonly type = 'net.CIDR'
  readonly ip: Ip
  readonly prefix: number

  constructor(ip: Ip, prefix: number) {
    super()
    this.ip = ip
    this.prefix = prefix
  }

  /** Bits after the prefix. */
  get hostBits(): bigint {
    return BigInt((this.ip.family === 4 ? 32 : 128) - this.prefix)
  }

  contains(ip: Ip): boolean {
    return ip.family === this.ip.family && ip.bits >> this.hostBits === this.ip.bits >> this.hostBits
  }

  equals(other: Opaque): boolean {
    return other instanceof Cidr && other.prefix === this.prefix && other.ip.equals(this.ip)
  }

  toString(): string {
    return `${this.ip.toString()}/${this.prefix}`
  }
}

/** More than the longest address of IPv6, with four parts in decimal, has: 45. */
const ADDRESS_UNITS_MAX = 64

/** An address without zone, or null. */
export function parseIp(text: string): Ip | null {
  const family = text.length > ADDRESS_UNITS_MAX || text.includes('%') ? 0 : isIP(text)
  if (family === 4) return new Ip(parseV4(text), 4)
  if (family !== 6) return null
  const bits = parseV6(text)
  return bits >> 32n === 0xffffn ? new Ip(bits & 0xffffffffn, 4) : new Ip(bits, 6)
}

function parseV4(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

function parseV6(text: string): bigint {
  const dotted = /[^:]+\.[^:]+$/.exec(text)
  const v4 = dotted === null ? 0n : parseV4(dotted[0])
  const plain =
    dotted === null ? text : `${text.slice(0, dotted.index)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  const [head = '', tail] = plain.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const left = groups(head)
  const right = groups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(zeros).fill('0'), ...right].reduce((b, g) => (b << 16n) | BigInt(`0x${g}`), 0n)
}

function formatV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((place) => String((bits >> place) & 0xffn)).join('.')
}

/** RFC 5952: the longest run of two or more zero groups as "::", the first of equals. */
function formatV6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  let best = { from: 0, length: 1 }
  for (let from = 0; from < 8; from++) {
    let length = 0
    while (groups[from + length] === '0') length++
    if (length > best.length) best = { from, length }
  }
  if (best.length < 2) return groups.join(':')
  return `${groups.slice(0, best.from).join(':')}::${groups.slice(best.from + best.length).join(':')}`
}

export function parseCidr(text: string): Cidr | null {
  if (text.length > ADDRESS_UNITS_MAX) return null
  const [, address = '', length = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const ip = parseIp(address)
  if (ip === null || (length.startsWith('0') && length !== '0')) return null
  // The prefix counts from the start of the text's own family.
  const prefix = Number(length) - (ip.family === 4 && address.includes(':') ? 96 : 0)
  return prefix < 0 || prefix > (ip.family === 4 ? 32 : 128) ? null : new Cidr(ip, prefix)
}

const IP = type('ip', (value) => value instanceof Ip)
const CIDR = type('cidr', (value) => value instanceof Cidr)

function readIp(text: string): Value {
  return parseIp(text) ?? invalid('not an IP address')
}

function readCidr(text: string): Value {
  return parseCidr(text) ?? invalid('not an address range like 10.0.0.0/8')
}

/** The same test for a value that is given as text. */
function withText(read: (text: string) => Value, test: (cidr: Cidr, value: Value) => Value) {
  return (cidr: Cidr, text: string): Value => {
    const value = read(text)
    return value instanceof CelError ? value : test(cidr, value)
  }
}

const containsIp = (cidr: Cidr, ip: Value): boolean => cidr.contains(ip as Ip)
const containsCidr = (cidr: Cidr, part: Value): boolean =>
  (part as Cidr).prefix >= cidr.prefix && cidr.contains((part as Cidr).ip)

/**
 * Whether the address lies in one of the ranges. The first call reads them: Node's pattern for IPv6 addresses takes
 * 10 ms to compile, and every thread would do so.
 */
function within(...texts: readonly string[]): (ip: Ip) => boolean {
  let ranges: readonly Cidr[] | undefined
  return (ip) => {
    ranges ??= texts.map((text) => parseCidr(text)!)
    return ranges.some((range) => range.contains(ip))
  }
}

const isUnspecified = within('0.0.0.0/32', '::/128')
const isLoopback = within('127.0.0.0/8', '::1/128')
const isMulticast = within('224.0.0.0/4', 'ff00::/8')
const isLinkLocalUnicast = within('169.254.0.0/16', 'fe80::/10')

export const NETWORK: readonly Declared[] = [
  fn('ip', [STRING], IP, readIp, { isConstant: true }),
  fn('isIP', [STRING], BOOL, (text) => parseIp(text) !== null, { isConstant: true }),
  fn(
    'ip.isCanonical',
    [STRING],
    BOOL,
    (text) => {
      const ip = parseIp(text)
      return ip === null ? invalid('not an IP address') : ip.toString() === text
    },
    { isConstant: true }
  ),
  fn('cidr', [STRING], CIDR, readCidr, { isConstant: true }),
  fn('isCIDR', [STRING], BOOL, (text) => parseCidr(text) !== null, { isConstant: true }),
  fn('string', [IP], STRING, (ip) => ip.toString()),
  fn('string', [CIDR], STRING, (cidr) => cidr.toString()),
  method('family', [IP], INT, (ip) => ip.family),
  method('isUnspecified', [IP], BOOL, isUnspecified),
  method('isLoopback', [IP], BOOL, isLoopback),
  method('isLinkLocalMulticast', [IP], BOOL, within('224.0.0.0/24', 'ff02::/16')),
  method('isLinkLocalUnicast', [IP], BOOL, isLinkLocalUnicast),
  // RFC 1918 and RFC 4193.
  method('isPrivate', [IP], BOOL, within('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7')),
  method('isGlobalUnicast', [IP], BOOL, (ip) => {
    return !(
      isUnspecified(ip) ||
      isLoopback(ip) ||
      isMulticast(ip) ||
      isLinkLocalUnicast(ip) ||
      ip.bits === 0xffffffffn
    )
  }),
  method('containsIP', [CIDR, IP], BOOL, containsIp),
  method('containsIP', [CIDR, STRING], BOOL, withText(readIp, containsIp), { isConstant: true }),
  method('containsCIDR', [CIDR, CIDR], BOOL, containsCidr),
  method('containsCIDR', [CIDR, STRING], BOOL, withText(readCidr, containsCidr), { isConstant: true }),
  method('ip', [CIDR], IP, (cidr) => cidr.ip),
  method('masked', [CIDR], CIDR, (cidr) => {
    const bits = (cidr.ip.bits >> cidr.hostBits) << cidr.hostBits
    return new Cidr(new Ip(bits, cidr.ip.family), cidr.prefix)
  }),
  method('prefixLength', [CIDR], INT, (cidr) => cidr.prefix)
]
