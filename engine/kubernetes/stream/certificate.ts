/**
 * A certificate of its own for a controller that is given none (RFC 5280). Node makes keys and signatures, but no
 * certificates; what is written here is one fixed form of them.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import {
  bits,
  boolean,
  der,
  implicit,
  integer,
  octets,
  oid,
  pem,
  sequence,
  set,
  tagged,
  time,
  utf8
} from '#engine/kit/der.ts'

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'))
const COMMON_NAME = oid('2.5.4.3')
const BASIC_CONSTRAINTS = oid('2.5.29.19')
const KEY_USAGE = oid('2.5.29.15')
const EXTENDED_KEY_USAGE = oid('2.5.29.37')
const ALTERNATIVE_NAMES = oid('2.5.29.17')
const SERVER_AUTH = oid('1.3.6.1.5.5.7.3.1')
/** digitalSignature and keyCertSign. */
const USAGES = der(0x03, Buffer.from([2, 0b1000_0100]))
const VERSION_3 = tagged(0, integer(Buffer.from([2])))
const DNS_NAME = 2
const IP_ADDRESS = 7
const DAY_MS = 86_400_000

/** PEM. It is its own authority: `cert` is what data planes trust. `names`: DNS names and addresses. */
export function makeCertificate(options: {
  readonly names: readonly string[]
  readonly validDays: number
  /** Milliseconds of the wall clock. */
  readonly now: number
}): { readonly cert: string; readonly key: string } {
  const { names, validDays, now } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(COMMON_NAME, utf8('weir controller'))))
  // 64 bits of chance, and above zero (section 4.1.2.2).
  const serial = integer(Buffer.concat([Buffer.from([1]), randomBytes(8)]))
  // Clocks of data planes may be behind.
  const validity = sequence(time(now - DAY_MS), time(now + validDays * DAY_MS))
  const subjectKey = publicKey.export({ type: 'spki', format: 'der' })
  const extensions = tagged(3, sequence(...extensionsFor(names)))
  const content = sequence(VERSION_3, serial, ECDSA_SHA256, name, validity, name, subjectKey, extensions)
  const signature = sign('sha256', content, privateKey)
  return {
    cert: pem('CERTIFICATE', sequence(content, ECDSA_SHA256, bits(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
}

function extensionsFor(names: readonly string[]): Buffer[] {
  const critical = boolean(true)
  return [
    sequence(BASIC_CONSTRAINTS, critical, octets(sequence(boolean(true)))),
    sequence(KEY_USAGE, critical, octets(USAGES)),
    sequence(EXTENDED_KEY_USAGE, octets(sequence(SERVER_AUTH))),
    sequence(ALTERNATIVE_NAMES, octets(sequence(...names.map(alternativeName))))
  ]
}

function alternativeName(name: string): Buffer {
  const family = isIP(name)
  if (family === 0) return implicit(DNS_NAME, Buffer.from(name))
  return implicit(IP_ADDRESS, family === 4 ? Buffer.from(name.split('.').map(Number)) : ip6(name))
}

/** Sixteen bytes: of "a::b", what is left out is zero. */
function ip6(text: string): Buffer {
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(head), groups(tail ?? '')]
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
