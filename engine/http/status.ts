/** Status lines, made once: RFC 9110 section 15 and the IANA registry. */
import { STATUS_CODES } from 'node:http'

const lines: string[] = []

/** "HTTP/1.1 200 OK\r\n". A status without a registered phrase gets an empty one (RFC 9112 section 4). */
export function statusLine(status: number): string {
  let line = lines[status]
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    lines[status] = line
  }
  return line
}

/** Whether a response can have content at all (RFC 9110 section 6.4.1). */
export function hasNoContent(status: number, method: string): boolean {
  return status === 204 || status === 304 || status < 200 || method === 'HEAD'
}

const TRAILERS_REFUSED = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'upgrade',
  'te',
  'trailer',
  'authorization',
  'set-cookie',
  'cookie',
  'content-encoding',
  'content-type',
  'content-range',
  'expect',
  'max-forwards',
  'cache-control',
  'proxy-authorization',
  'proxy-authenticate'
])

/** Trailer lines without the fields that must not be trailers (RFC 9110 section 6.5.1). */
export function safeTrailers(lines: string): string {
  if (lines === '') return ''
  let out = ''
  for (const line of lines.split('\r\n')) {
    const name = line
      .slice(0, Math.max(line.indexOf(':'), 0))
      .trim()
      .toLowerCase()
    if (name !== '' && !TRAILERS_REFUSED.has(name)) out += `${line}\r\n`
  }
  return out
}
