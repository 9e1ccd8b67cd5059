/** Texts that uWebSockets.js is given and gives: the response head, the client's address. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { statusLine } from '#engine/http/status.ts'

const VERSION = 'HTTP/1.1 '

/**
 * Status and header lines as one text for writeStatus(), which passes on what it gets: one call into
 * the library instead of one per header. Latin1 bytes, because it would encode a string as UTF-8.
 * Content-Length is left to the library unless the response is `mute` (then it frames nothing); Date
 * always, because it cannot be kept from writing its own.
 */
export function headText(ex: Exchange, mute: boolean, closes: boolean): Buffer {
  const line = statusLine(ex.status)
  const lines = linesWithout(ex.response!, mute ? DATE : DATE_AND_LENGTH)
  const close = closes ? 'Connection: close\r\n' : ''
  const text = `${line.substring(VERSION.length)}${lines}${close}`
  // The library ends the last line itself.
  return Buffer.from(text.substring(0, text.length - 2), 'latin1')
}

const DATE = ['date']
const DATE_AND_LENGTH = ['date', 'content-length']

/** The kept lines but for some names. The block stays as it is: the access log reads it later. */
export function linesWithout(block: HeaderBlock, names: readonly string[]): string {
  const { at, added } = block
  const hidden: number[] = []
  for (const name of names) {
    for (let i = block.find(name, 0); i >= 0; i = block.find(name, i + 1)) {
      hidden.push(i, at[i * 4 + 1]!)
      block.drop(i)
    }
  }
  if (added !== null) block.added = without(added, names)
  const lines = block.lines()
  block.added = added
  for (let j = 0; j < hidden.length; j += 2) at[hidden[j]! * 4 + 1] = hidden[j + 1]!
  return lines
}

function without(added: string[], names: readonly string[]): string[] {
  const kept: string[] = []
  for (let j = 0; j < added.length; j += 2) {
    if (!names.includes(added[j]!.toLowerCase())) kept.push(added[j]!, added[j + 1]!)
  }
  return kept
}

/** Text of an address of 4 or 16 bytes, as the operating system spells it; '' for none. */
export function addressText(address: ArrayBuffer): string {
  const bytes = new Uint8Array(address)
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return ''
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  if (isMapped) return `::ffff:${bytes.subarray(12).join('.')}`
  const groups: string[] = []
  for (let i = 0; i < 16; i += 2) groups.push((bytes[i]! * 256 + bytes[i + 1]!).toString(16))
  // RFC 5952: the longest run of zero groups, the first of equals, becomes "::".
  const longest = (groups.join(':').match(/\b0(?::0)+\b/g) ?? []).reduce((a, b) => (b.length > a.length ? b : a), '')
  if (longest === '') return groups.join(':')
  const text = groups.join(':')
  const start = text.search(new RegExp(`(?:^|:)${longest}(?:$|:)`))
  const from = text.charAt(start) === ':' ? start + 1 : start
  return `${text.slice(0, from).replace(/:$/, '')}::${text.slice(from + longest.length).replace(/^:/, '')}`
}
