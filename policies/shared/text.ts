import { CelError, toJson, type Value } from '#engine/cel/index.ts'
import { redactText, withoutKeys } from '#engine/kit/sensitive.ts'

/** A result as text: numbers and booleans as they are written, maps and lists as JSON; null for a failure. */
export function textOf(value: Value): string | null {
  if (typeof value === 'string') return value
  if (value instanceof CelError) return null
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  const json = toJson(value)
  return typeof json === 'string' ? json : null
}

/**
 * Text whose characters are octets, as values of header fields are here, decoded as UTF-8. Null: it is no UTF-8, or
 * has characters that are no octets.
 */
export function utf8OfOctets(text: string): string | null {
  if (!NOT_ASCII.test(text)) return text
  if (NO_OCTET.test(text)) return null
  const decoded = Buffer.from(text, 'latin1').toString('utf8')
  return decoded.includes('\ufffd') ? null : decoded
}

const NOT_ASCII = /[^\x00-\x7f]/
const NO_OCTET = /[^\x00-\xff]/

/** Only those of HTTP (RFC 9110 section 5.6.3): trim() knows many more, which are octets of a value here. */
export function withoutBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(c: number): boolean {
  return c === 32 || c === 9
}

/** What a client sent, in a detail for the log: quoted, cut, and without what looks like a key. */
export function shownText(text: string): string {
  return `"${withoutKeys(redactText(text.slice(0, SHOWN_CHARS_MAX)))}${text.length > SHOWN_CHARS_MAX ? '...' : ''}"`
}

const SHOWN_CHARS_MAX = 80
