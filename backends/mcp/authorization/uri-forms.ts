/**
 * What a server may take the URI of a resource for (RFC 3986 section 6.2.2). It gets the text as the client sent it,
 * and compares it as it is, or parses it as URLs are parsed (WHATWG, in the SDKs of TypeScript and Python), or opens
 * a file.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

export interface UriForms {
  /** The text as sent first; then what parsers of URLs make of it, and what servers look for. */
  readonly spelled: readonly string[]
  /**
   * More, for rules that deny: with escapes decoded, which a file or a database is asked for, and with a host in lower
   * case and a path where parsers of URLs leave both as they are (schemes that are not special, WHATWG URL section 3).
   */
  readonly suspected: readonly string[]
  /** As sent, where parsers lower it and give it no other meaning: "Screen". Empty: it needs no second look. */
  readonly scheme: string
}

/** Parsers of URLs give hosts, ports and slashes of these a meaning (WHATWG URL section 3). */
const SPECIAL = /^(?:file|ftp|https?|wss?):/i
/** No host, or one that nobody reads as a number or in another script; of schemes that are not special any host. */
const PLAIN_STARTS = [
  String.raw`file:\/\/`,
  String.raw`https?:\/\/[a-z](?:-?[a-z0-9])*(?:\.[a-z](?:-?[a-z0-9])*)*`,
  String.raw`(?!(?:file|ftp|https?|wss?):)[a-z][a-z0-9+.-]*:\/\/[a-z0-9-]*(?:\.[a-z0-9-]+)*`
]
/** Without anything that could be written differently. */
const PLAIN_PATH = String.raw`(?:\/(?!\.{0,2}(?:\/|$))[\w.~!$&'()*+,;=:@-]+)+`
const PLAIN = new RegExp(`^(?:${PLAIN_STARTS.join('|')})${PLAIN_PATH}$`)
const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/
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
  if (PLAIN.test(uri)) return { spelled: [uri], suspected: [], scheme: '' }
  // Parsers of URLs leave out tabs and line ends, and what surrounds the text (WHATWG URL section 4.4).
  const bare = trimmed(uri.replace(/[\t\n\r]/g, ''))
  const href = URL.parse(bare)?.href ?? bare
  const isSpecial = SPECIAL.test(bare)
  const forms = [uri, href]
  const suspected: string[] = []
  // Both: servers that look for a file do so in the text too, where "//../" goes up further than in a parsed URL.
  for (const text of href === bare ? [bare] : [href, bare]) {
    forms.push(normal(text, false, isSpecial), normal(text, true, isSpecial))
    if (!isSpecial) suspected.push(normal(text, false, true), normal(text, true, true))
  }
  // urlparse(uri).path of Python, which many servers open: the host of a file is not looked at.
  for (const hosted of forms.slice(1).map((form) => HOSTED_FILE.exec(form))) {
    if (hosted !== null) forms.push(`file://${hosted[1]}`)
  }
  const spelled = [...new Set(forms)]
  const others = [...suspected, ...spelled.map(decodedUri), ...suspected.map(decodedUri)]
  const more = [...new Set(others)].filter((form) => !spelled.includes(form))
  return { spelled, suspected: more, scheme: isSpecial ? '' : schemeOf(uri) }
}

function schemeOf(uri: string): string {
  const scheme = SCHEME.exec(uri)?.[0] ?? ''
  return scheme === scheme.toLowerCase() ? '' : scheme
}

/** Without spaces and control characters around it. By index: an expression tries every run of spaces to the end. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 32) start++
  while (end > start && text.charCodeAt(end - 1) <= 32) end--
  return text.substring(start, end)
}

/**
 * `isLoose`: as who looks for a file or a server: escaped slashes, no fragment, no user, no query of a file.
 * `isHosted`: the authority is that of a host (case, port, user), and an empty path behind it is "/".
 */
function normal(uri: string, isLoose: boolean, isHosted: boolean): string {
  const parts = PARTS.exec(isLoose ? uri.replace(/\\/g, '/') : uri)
  if (parts === null) return uri
  const scheme = parts[1]!.toLowerCase()
  const isFile = isLoose && scheme === 'file'
  const authority = parts[2] ?? (isFile ? '' : undefined)
  const given = plainEscapes(parts[3]!)
  const slashed = isLoose ? given.replace(ESCAPED_SLASH, '/').replace(/\/{2,}/g, '/') : given
  const isPath = slashed.startsWith('/') || (isHosted && authority !== undefined)
  const path = isPath ? withoutDots(slashed) : slashed
  const tail = isLoose ? (isFile ? '' : (parts[4] ?? '')) : (parts[4] ?? '') + (parts[5] ?? '')
  const host = authority === undefined ? '' : `//${isHosted ? hostForm(scheme, authority, isLoose) : authority}`
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

/** RFC 3986 section 5.2.4; an empty path is "/" (section 6.2.3), and one without a first slash gets it. */
function withoutDots(path: string): string {
  const out: string[] = []
  const segments = path.replace(/^\//, '').split('/')
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
