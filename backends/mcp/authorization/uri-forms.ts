/**
 * The forms in which a server may read the URI of a resource (RFC 3986 section 6.2.2). It gets the text as the client
 * sent it, and may compare it as is, parse it as a URL (WHATWG, in the SDKs of TypeScript and Python), or open a file.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

export interface UriForms {
  /** First the text as sent, then what URL parsers make of it and what servers look up. */
  readonly spelled: readonly string[]
  /**
   * More forms for deny rules: with escapes decoded, as files and databases are asked for, and with host and path
   * normalized where URL parsers leave both unchanged (schemes that are not special, WHATWG URL section 3).
   */
  readonly suspected: readonly string[]
  /** A scheme with capitals that is not special, as sent: "Screen". Empty: no such scheme. */
  readonly scheme: string
}

/** Special schemes: URL parsers interpret their hosts, ports and slashes (WHATWG URL section 3). */
const SPECIAL = /^(?:file|ftp|https?|wss?):/i
/** Without a host, or with one that is neither a number nor internationalized; for other schemes any host. */
const PLAIN_STARTS = [
  String.raw`file:\/\/`,
  String.raw`https?:\/\/[a-z](?:-?[a-z0-9])*(?:\.[a-z](?:-?[a-z0-9])*)*`,
  String.raw`(?!(?:file|ftp|https?|wss?):)[a-z][a-z0-9+.-]*:\/\/[a-z0-9-]*(?:\.[a-z0-9-]+)*`
]
/** A path that has only one form. */
const PLAIN_PATH = String.raw`(?:\/(?!\.{0,2}(?:\/|$))[\w.~!$&'()*+,;=:@-]+)+`
const PLAIN = new RegExp(`^(?:${PLAIN_STARTS.join('|')})${PLAIN_PATH}$`)
const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/
const HOSTED_FILE = /^file:\/\/[^/]+(\/.*)$/s
/** The host has no "@": otherwise each of many would make the expression try the rest of the text. */
const AUTHORITY = /^(.*@)?(\[[^\]@]*\]|[^:@]*)(?::(\d*))?$/s
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443', ftp: '21' }
const UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi
const ESCAPE = /%[0-9a-f]{2}/gi
const ESCAPED_SLASH = /\\|%2f|%5c/gi

/** Characters; the limit that most servers have for a request line. */
export const URI_MAX = 8_192

/** Linear in the text; callers refuse longer ones than URI_MAX. */
export function uriForms(uri: string): UriForms {
  if (PLAIN.test(uri)) return { spelled: [uri], suspected: [], scheme: '' }
  // URL parsers remove tabs and line ends, and surrounding spaces and control characters (WHATWG URL section 4.4).
  const bare = trimmed(uri.replace(/[\t\n\r]/g, ''))
  const href = URL.parse(bare)?.href ?? bare
  const isSpecial = SPECIAL.test(bare)
  const forms = [uri, href]
  const suspected: string[] = []
  // Both: servers that open files may use the unparsed text, in which "//../" goes up further than in a parsed URL.
  for (const text of href === bare ? [bare] : [href, bare]) {
    forms.push(normal(text, false, isSpecial), normal(text, true, isSpecial))
    if (!isSpecial) suspected.push(normal(text, false, true), normal(text, true, true))
  }
  // Many servers open urlparse(uri).path of Python, which ignores the host of a file URL.
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

/** Without surrounding spaces and control characters. By index: a regular expression would be quadratic in spaces. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 32) start++
  while (end > start && text.charCodeAt(end - 1) <= 32) end--
  return text.substring(start, end)
}

/**
 * `isLoose`: as a file system or a resolver reads it: escaped slashes, no fragment, no user, no query of a file.
 * `isHosted`: the authority is a host (case, port, user), and an empty path after it is "/".
 */
function normal(uri: string, isLoose: boolean, isHosted: boolean): string {
  const parts = PARTS.exec(isLoose ? uri.replace(/\\/g, '/') : uri)
  if (parts === null) return uri
  const scheme = parts[1]!.toLowerCase()
  const isFile = isLoose && scheme === 'file'
  const authority = parts[2] ?? (isFile ? '' : undefined)
  const unescaped = plainEscapes(parts[3]!)
  const slashed = isLoose ? unescaped.replace(ESCAPED_SLASH, '/').replace(/\/{2,}/g, '/') : unescaped
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

/** RFC 3986 section 5.2.4; an empty path is "/" (section 6.2.3), and a leading slash is added if it is missing. */
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

/** Bytes that are not UTF-8 become U+FFFD, so they hide nothing. */
function decodedUri(uri: string): string {
  const text = uri.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)(xn--[^/:]*|[^/:]*\.xn--[^/:]*)/, (_, start: string, host: string) => {
    return start + (domainToUnicode(host) || host)
  })
}
