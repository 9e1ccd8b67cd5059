/**
 * Values of the fields Mcp-Name and Mcp-Param-*: plain where a field can carry them, else `=?base64?...?=` of UTF-8
 * (2026-07-28, basic/transports/streamable-http, Value Encoding).
 */

const OPENING = '=?base64?'
const CLOSING = '?='

/** Whether a field can carry the text as it is. What has been unpacked (an id out of JSON) may have line ends in it. */
export function isFieldValue(text: string): boolean {
  return /^[\x20-\x7e\t]*$/.test(text)
}

export function encodeFieldValue(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) || value === ''
  return isPlain && !isMarked(value) ? value : OPENING + Buffer.from(value, 'utf8').toString('base64') + CLOSING
}

/** What the field says; null: it has bytes that no field may carry, or is no base64, or no UTF-8. */
export function decodeFieldValue(field: string): string | null {
  if (!isMarked(field)) return isFieldValue(field) ? field : null
  const inner = field.slice(OPENING.length, -CLOSING.length)
  const bytes = Buffer.from(inner, 'base64')
  // Buffer.from overlooks what is no base64: only what it writes itself is taken, padding or none.
  if (bytes.toString('base64').replace(/=+$/, '') !== inner.replace(/=+$/, '')) return null
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : null
}

function isMarked(value: string): boolean {
  return value.length >= OPENING.length + CLOSING.length && value.startsWith(OPENING) && value.endsWith(CLOSING)
}
