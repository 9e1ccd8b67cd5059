/**
 * A signed token in compact form (RFC 7515 section 7.1, RFC 7519) -> its parts, or null. Nothing here is
 * trusted yet: the signature has not been looked at. Bounded in size and depth, and never throws.
 */

import { isUtf8 } from 'node:buffer'
import { parseJson } from '#engine/kit/json.ts'

/** Longer ones are refused unread. Those of identity providers with many groups have 2 to 6 KB. */
export const TOKEN_CHARS_MAX = 16 * 1024
/** Claims nest two or three levels; what is deeper only costs time. */
const DEPTH_MAX = 32

export interface ParsedToken {
  readonly alg: string
  /** Null: the header names no key. */
  readonly kid: string | null
  readonly claims: Readonly<Record<string, unknown>>
  /** What is signed: header and payload as they were sent. */
  readonly signed: Buffer
  readonly signature: Buffer
}

export function parseToken(token: string): ParsedToken | null {
  if (token.length > TOKEN_CHARS_MAX) return null
  const first = token.indexOf('.')
  const last = token.lastIndexOf('.')
  // Exactly three parts: five would be an encrypted token, which cannot be read here.
  if (first <= 0 || token.indexOf('.', first + 1) !== last) return null
  const header = readObject(token.slice(0, first))
  const claims = readObject(token.slice(first + 1, last))
  const signature = decode(token.slice(last + 1))
  if (header === null || claims === null || signature === null || signature.length === 0) return null
  const { alg, kid } = header
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return null
  // RFC 7515 section 4.1.11: extensions that must be understood, and none is understood here.
  if (Object.hasOwn(header, 'crit')) return null
  return { alg, kid: kid ?? null, claims, signed: Buffer.from(token.slice(0, last), 'latin1'), signature }
}

function readObject(part: string): Record<string, unknown> | null {
  const bytes = decode(part)
  if (bytes === null || !isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  if (isTooDeep(text)) return null
  const value = parseJson(text)
  if (value === undefined) return null
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

/** Whether brackets outside of strings nest deeper than DEPTH_MAX; of text that may be no JSON at all. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (isString) {
      if (c === 92) i++
      else if (c === 34) isString = false
    } else if (c === 34) isString = true
    else if (c === 123 || c === 91) {
      if (++depth > DEPTH_MAX) return true
    } else if (c === 125 || c === 93) depth--
  }
  return false
}

/**
 * Base64url without padding (RFC 7515 section 2), or null. Strict: one text per value, so the bits that the
 * last character has too many must be zero. Node's own decoder skips what it does not know.
 */
function decode(text: string): Buffer | null {
  const left = text.length % 4
  if (left === 1) return null
  for (let i = 0; i < text.length; i++) if (sextet(text.charCodeAt(i)) < 0) return null
  const spare = left === 2 ? 15 : left === 3 ? 3 : 0
  if (spare > 0 && (sextet(text.charCodeAt(text.length - 1)) & spare) !== 0) return null
  return Buffer.from(text, 'base64url')
}

/** Value of a character of the base64url alphabet, or -1. */
function sextet(c: number): number {
  if (c >= 65 && c <= 90) return c - 65
  if (c >= 97 && c <= 122) return c - 71
  if (c >= 48 && c <= 57) return c + 4
  if (c === 45) return 62
  return c === 95 ? 63 : -1
}
