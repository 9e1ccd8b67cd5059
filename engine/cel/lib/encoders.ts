/** Encodings and digests: base64, URL, HTML forms, SHA-2, SHA-1, MD5. */
import { createHash } from 'node:crypto'
import { BYTES, type Declared, DYN, fn, invalid, MAP, method, STRING } from '#engine/cel/functions.ts'
import { isList, keysOf, valueAt } from '#engine/cel/maps.ts'
import { noOverload, type Value } from '#engine/cel/values.ts'
import { decodeText } from './conversions.ts'
import { textOf } from './format.ts'

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Standard and URL-safe alphabet, with and without padding. */
function fromBase64(text: string): Value {
  if (!BASE64.test(text) || text.replace(/=+$/, '').length % 4 === 1) return invalid('not base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function toBase64(value: string | Uint8Array): string {
  return Buffer.from(value as Uint8Array).toString('base64')
}

function fromUrl(text: string): Value {
  try {
    return decodeURIComponent(text)
  } catch {
    return invalid('not URL-encoded: a % must be followed by the digits of UTF-8')
  }
}

/** A map of strings, or of lists of strings, as an HTML form writes it. */
function toForm(map: Value): Value {
  const form = new URLSearchParams()
  for (const key of keysOf(map)!) {
    const value = valueAt(map, key)
    for (const item of isList(value) ? value : [value]) {
      const text = textOf(item)
      if (typeof text !== 'string' || typeof key !== 'string') return noOverload('form.encode', map)
      form.append(key, text)
    }
  }
  return form.toString()
}

/** A form as a map: a string for a name that is given once, a list for others. */
function fromForm(text: string): Value {
  const found = new Map<string, string | string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const before = found.get(name)
    if (before === undefined) found.set(name, value)
    else if (typeof before === 'string') found.set(name, [before, value])
    else before.push(value)
  }
  return found
}

function digest(algorithm: string): Declared[] {
  const hash = (value: string | Uint8Array) => createHash(algorithm).update(value).digest('hex')
  return [fn(`${algorithm}.encode`, [STRING], STRING, hash), fn(`${algorithm}.encode`, [BYTES], STRING, hash)]
}

export const ENCODERS: readonly Declared[] = [
  fn('base64.encode', [BYTES], STRING, toBase64),
  fn('base64.encode', [STRING], STRING, toBase64),
  fn('base64.decode', [STRING], BYTES, fromBase64),
  // The closest peer's older names, as methods and functions; decoding answers text.
  fn('base64Encode', [DYN], STRING, (value) => encodeAny(value)),
  method('base64Encode', [DYN], STRING, (value) => encodeAny(value)),
  fn('base64Decode', [STRING], DYN, decodeAny),
  method('base64Decode', [STRING], DYN, decodeAny),
  fn('url.encode', [STRING], STRING, (text) => encodeURIComponent(text.toWellFormed())),
  fn('url.decode', [STRING], STRING, fromUrl),
  fn('form.encode', [MAP], STRING, toForm),
  fn('form.decode', [STRING], MAP, fromForm),
  ...digest('sha256'),
  ...digest('sha1'),
  ...digest('md5')
]

function encodeAny(value: Value): Value {
  return typeof value === 'string' || value instanceof Uint8Array ? toBase64(value) : noOverload('base64Encode', value)
}

function decodeAny(text: string): Value {
  const bytes = fromBase64(text)
  return bytes instanceof Uint8Array ? decodeText(bytes) : bytes
}
