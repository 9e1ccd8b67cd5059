/**
 * What a server may take the URI of a resource for (RFC 3986 section 6.2.2). It gets the text as the client sent it,
 * and compares it as it is, or parses it as URLs are parsed (WHATWG, in the SDKs of TypeScript and Python), or opens
 * a file.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

export interface UriForms {
  /** The text as sent first; then what is the same resource to those who normalise. */
  readonly spelled: readonly string[]
  /** The same with escapes decoded: what a file or a database is asked for. */
  readonly decoded: readonly string[]
}

/** Lower-case scheme and host, no port, and a path without anything that could be written differently. */
const PLAIN =
  /^[a-z][a-z0-9+.-]*:\/\/(?!localhost\/)[a-z0-9-]*(?:\.[a-z0-9-]+)*(?:\/(?!\.{0,2}(?:\/|$))[\w.~!$&'()*+,;=:@-]+)+$/
const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s
const HOSTED_FILE = /^file:\/\/[^/]+(\/.*)$/s
/** No "@" after the last: from each of many, the rest of the text would be tried. */
const AUTHORITY = /^(.*@)?(\[[^\]@]*\]|[^:@]*)(?::(\d*))?$/s
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443', ftp: '21' }
const UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi
const ESCAPE = /%[0-9a-f]{2}/gi
const ESCAPED_SLASH = /\\|%2f|%5c/gi

/** In characters: as much as the request lines of most servers have. */
export const URI_MAX = 8_192

/** Linear in the text; callers refuse what is longer than URI_MAX. */
export function uriForms(uri: string): UriForms {
  if (PLAIN.test(uri) && !HOSTED_FILE.test(uri)) return { spelled: [uri], decoded: [] }
  // Parsers of URLs leave out tabs and line ends, and what surrounds the text (WHATWG URL section 4.4).
  const bare = trimmed(uri.replace(/[\t\n\r]/g, ''))
  const forms = [uri, normal(bare, false), normal(bare, true)]
  // urlparse(uri).path of Python, which many servers open: the host of a file is not looked at.
  const hosted = HOSTED_FILE.exec(forms[2]!)
  if (hosted !== null) forms.push(`file://${hosted[1]}`)
  const spelled = [...new Set(forms)]
  const decoded = [...new Set(spelled.map(decodedUri))].filter((form) => !spelled.includes(form))
  return { spelled, decoded }
}

/** Without spaces and control characters around it. By index: an expression tries every run of spaces to the end. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 32) start++
  while (end > start && text.charCodeAt(end - 1) <= 32) end--
  return text.substring(start, end)
}

/** `isLoose`: as who looks for a file or a server: escaped slashes, no fragment, no user, no query of a file. */
function normal(uri: string, isLoose: boolean): string {
  const parts = PARTS.exec(isLoose ? uri.replace(/\\/g, '/') : uri)
  if (parts === null) return uri
  const scheme = parts[1]!.toLowerCase()
  const isFile = isLoose && scheme === 'file'
  const authority = parts[2] ?? (isFile ? '' : undefined)
  const given = plainEscapes(parts[3]!)
  const slashed = isLoose ? given.replace(ESCAPED_SLASH, '/').replace(/\/{2,}/g, '/') : given
  const path = authority !== undefined || slashed.startsWith('/') ? withoutDots(slashed) : slashed
  const tail = isLoose ? (isFile ? '' : (parts[4] ?? '')) : (parts[4] ?? '') + (parts[5] ?? '')
  const host = authority === undefined ? '' : `//${hostForm(scheme, authority, isLoose)}`
  return `${scheme}:${host}${path}${plainEscapes(tail)}`
}

function hostForm(scheme: string, authority: string, isLoose: boolean): string {
  const [, user = '', name = '', port = ''] = AUTHORITY.exec(plainEscapes(authority)) ?? []
  const lower = name.toLowerCase()
  const host = isLoose ? domainToASCII(lower).replace(/\.$/, '') || lower : lower
  if (isLoose && scheme === 'file' && host === 'localhost') return ''
  return `${isLoose ? '' : user}${host}${port === '' || port === DEFAULT_PORTS[scheme] ? '' : `:${port}`}`
}

function plainEscapes(text: string): string {
  return text
    .replace(UNRESERVED, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    .replace(ESCAPE, (code) => code.toUpperCase())
}

/** RFC 3986 section 5.2.4; an empty path is "/" (section 6.2.3). */
function withoutDots(path: string): string {
  const out: string[] = []
  const segments = path.split('/').slice(1)
  segments.forEach((segment, i) => {
    if (segment === '..') out.pop()
    if (segment !== '.' && segment !== '..') out.push(segment)
    else if (i === segments.length - 1) out.push('')
  })
  return `/${out.join('/')}`
}

/** Bytes that are no UTF-8 become U+FFFD: nothing is hidden by them. */
function decodedUri(uri: string): string {
  const text = uri.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)(xn--[^/:]*|[^/:]*\.xn--[^/:]*)/, (_, start: string, host: string) => {
    return start + (domainToUnicode(host) || host)
  })
}
