/** Values of ASN.1 in DER (ITU-T X.690), as far as certificates and requests for them need it. */

const SEQUENCE = 0x30
const SET = 0x31

/** Tag, length and content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff)
  return [0x80 | bytes.length, ...bytes]
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(SEQUENCE, ...content)
export const set = (...content: readonly Uint8Array[]): Buffer => der(SET, ...content)
export const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]))
export const octets = (content: Uint8Array): Buffer => der(0x04, content)
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))

/** A whole number from zero, big endian. */
export function integer(bytes: Uint8Array): Buffer {
  // A first bit would make it negative.
  return bytes[0]! >= 0x80 ? der(0x02, Buffer.from([0]), bytes) : der(0x02, bytes)
}

/** Of whole bytes. */
export const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content)

/** "1.2.840.10045.4.3.2" */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** GeneralizedTime of whole seconds. RFC 5280 section 4.1.2.5 has it for years from 2050; parsers take it for all. */
export function time(ms: number): Buffer {
  return der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')}`))
}

/** Content with a tag of the context: [n]. */
export const tagged = (tag: number, ...content: readonly Uint8Array[]): Buffer => der(0xa0 | tag, ...content)

/** Bytes in the place of a primitive type: [n] IMPLICIT. */
export const implicit = (tag: number, content: Uint8Array): Buffer => der(0x80 | tag, content)

/** Between lines of BEGIN and END (RFC 7468). */
export function pem(label: string, content: Uint8Array): string {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
