/**
 * The path of a request: the one form in which routes and rules judge it, and which backends get (docs/paths.md).
 *
 * What is sent to a backend may only differ from what was judged in ways that no reader of paths tells apart.
 * Where readers differ ("%2F", "\", "//", ";" parameters and "%3B") a listener says what holds; what it keeps is
 * judged in every way in which it can be read (`readingsOf`).
 */
import { isUtf8 } from 'node:buffer'

/** What a listener does with paths that can be read in several ways. */
export interface PathRules {
  /** "//" becomes "/". */
  readonly mergeSlashes: boolean
  /** %2F. redirect: the client is sent to the path with "/" in its place (307). */
  readonly escapedSlashes: 'keep' | 'reject' | 'redirect' | 'unescape'
  /** "\" and %5C, which some servers read as "/". */
  readonly backslashes: 'keep' | 'reject' | 'redirect' | 'unescape'
  /** ";", or "%3B", and what follows it in a segment, which some servers leave out. */
  readonly parameters: 'keep' | 'strip' | 'reject'
  /** "%25" before two hexadecimal digits, which is decoded once here and twice by some servers. */
  readonly doubleEncoding: 'keep' | 'reject'
  /** Escapes whose bytes are no UTF-8, overlong ones too. */
  readonly invalidUtf8: 'keep' | 'reject'
}

export const PATH_DEFAULTS: PathRules = {
  mergeSlashes: false,
  escapedSlashes: 'keep',
  backslashes: 'reject',
  parameters: 'keep',
  doubleEncoding: 'keep',
  invalidUtf8: 'reject'
}

/** For paths that the configuration makes. */
export const PATH_KEPT: PathRules = { ...PATH_DEFAULTS, backslashes: 'keep', invalidUtf8: 'keep' }

const ODD = /[%\\;]|\/[./]/

/** The last one that passed: connections ask for the same path over and over (65 ns without, measured). */
let lastPlain = ''

/** Whether the path is its own normal form and can be read in one way only. */
export function isPlainPath(path: string): boolean {
  if (path === lastPlain) return true
  if (ODD.test(path)) return false
  lastPlain = path
  return true
}

export interface NormalPath {
  /** As backends get it: percent-encoded. */
  readonly path: string
  /** The client has to ask for it in this form. */
  readonly isElsewhere: boolean
}

/** A "%" that begins no escape; NUL, control characters and DEL (RFC 3986 section 2.4; no path of a file has them). */
const REFUSED = /%(?![0-9a-f]{2})|%[01][0-9a-f]|%7f/i
/** Letters, digits and - . _ ~ (RFC 3986 section 2.3), percent-encoded. */
const ENCODED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi
const DOUBLE_ENCODED = /%25[0-9a-f]{2}/i
const ESCAPED_SLASH = /%2f/gi
const ESCAPED_BACKSLASH = /%5c/gi
const ESCAPED_SEMICOLON = /%3b/gi
const PARAMETERS = /;[^/]*/g
const ANY_PARAMETERS = /(?:;|%3b)[^/]*/gi
const SEMICOLON = /;|%3b/i
const SLASHES = /\/{2,}/g
const DOT_SEGMENT = /\/\.{1,2}(?=\/|$)/

/**
 * The normal form of `sent`, which begins with "/", under the rules; null: it is refused. Letters that were
 * percent-encoded for no reason are decoded and dot segments resolved (RFC 3986 sections 6.2.2.2 and 6.2.2.3).
 * Time and length are linear in `sent`.
 */
export function normalPath(sent: string, rules: PathRules): NormalPath | null {
  if (REFUSED.test(sent)) return null
  const plain = sent
    .replaceAll('\\', '%5C')
    .replace(ENCODED_UNRESERVED, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  if (rules.doubleEncoding === 'reject' && DOUBLE_ENCODED.test(plain)) return null
  if (rules.invalidUtf8 === 'reject' && !hasText(plain)) return null
  if (rules.parameters === 'reject' && SEMICOLON.test(plain)) return null
  const single = rules.parameters === 'strip' ? plain.replace(ANY_PARAMETERS, '') : plain
  const slashed = slash(single, ESCAPED_SLASH, rules.escapedSlashes)
  const all = slashed === null ? null : slash(slashed, ESCAPED_BACKSLASH, rules.backslashes)
  if (all === null) return null
  const merged = rules.mergeSlashes ? all.replace(SLASHES, '/') : all
  const isElsewhere =
    (rules.escapedSlashes === 'redirect' && slashed !== single) || (rules.backslashes === 'redirect' && all !== slashed)
  return { path: DOT_SEGMENT.test(merged) ? withoutDots(merged) : merged, isElsewhere }
}

/** Null: the path has what is rejected. */
function slash(path: string, escaped: RegExp, action: PathRules['escapedSlashes']): string | null {
  if (action === 'keep') return path
  const other = path.replace(escaped, '/')
  return action === 'reject' && other !== path ? null : other
}

/** RFC 3986 section 5.2.4. */
function withoutDots(path: string): string {
  const out: string[] = []
  const segments = path.split('/').slice(1)
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    const isLast = i === segments.length - 1
    if (segment === '.' || segment === '..') {
      if (segment === '..') out.pop()
      if (isLast) out.push('')
    } else out.push(segment)
  }
  return `/${out.join('/')}`
}

// --- decoding ---

/**
 * One escape of ASCII, or a run of others: the bytes of a character stand together. First of all a "%25" that would
 * become the "%" of an escape that stays, or of a "%25" before one.
 */
const ESCAPES = /(%(?:25)+(?=2f|[89a-f][0-9a-f]))|%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi
const WIDE_ESCAPES = /(?:%[89a-f][0-9a-f])+/gi

function bytesOf(escapes: string): Buffer {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex')
}

/** Whether every escape is a part of a character. Overlong forms and surrogates are not (RFC 3629 section 3). */
function hasText(path: string): boolean {
  const runs = path.match(WIDE_ESCAPES)
  return runs === null || runs.every((run) => isUtf8(bytesOf(run)))
}

/**
 * The path decoded once, as rules compare it. "%2F" stays: it is a character of its segment and ends none. What is no
 * UTF-8 stays, in upper case. So that no two normal paths are the same, "%25" stays before what would read as either.
 */
export function decodedPath(path: string): string {
  return path.indexOf('%') < 0 ? path : path.replace(ESCAPES, decoded)
}

function decoded(escapes: string, percent: string | undefined): string {
  if (percent !== undefined) return percent
  const upper = escapes.toUpperCase()
  if (upper === '%2F') return upper
  const bytes = bytesOf(upper)
  return isUtf8(bytes) ? bytes.toString() : upper
}

/** How much of `path` is the first segments that, decoded, are `prefix`; -1: it does not begin with them. */
export function lengthOfPrefix(path: string, prefix: string): number {
  if (path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === 47)) {
    return prefix.length
  }
  let end = 0
  for (let i = prefix.indexOf('/'); i >= 0; i = prefix.indexOf('/', i + 1)) {
    const next = path.indexOf('/', end + 1)
    if (next < 0 && prefix.indexOf('/', i + 1) >= 0) return -1
    end = next < 0 ? path.length : next
  }
  return decodedPath(path.substring(0, end)) === prefix ? end : -1
}

// --- readings ---

/** Paths without any of these are read in one way. */
const AMBIGUOUS = /;|%2f|%5c|%3b|\/\//i

/** What servers do to a path before they look at it, or before they send it on to one that does another of these. */
const READERS: readonly ((path: string) => string)[] = [
  (path) => path.replace(PARAMETERS, ''),
  (path) => path.replace(ESCAPED_SLASH, '/'),
  (path) => path.replace(ESCAPED_BACKSLASH, '/'),
  (path) => path.replace(ESCAPED_SEMICOLON, ';'),
  (path) => path.replace(SLASHES, '/')
]

/** Each is judged by every rule. A URL within a path, with an escaped slash and a parameter, has 8. */
const READINGS_MAX = 16

/**
 * The path, and what else a server may take it for, all percent-encoded: 16 at most. Servers stand behind each other,
 * and differ in which step they take first: any may follow on any (nginx makes "/a;x%2Fb" "/a;x/b", which is "/a/b" to
 * Tomcat, while Tomcat alone reads "/a"). Null: there are more, or in one of them there are dot segments ("/a/..;/b",
 * "/a/..%3B/b", "/a/..%2Fb"), so that servers disagree about where it is; no client does that by chance.
 */
export function readingsOf(path: string): readonly string[] | null {
  if (!AMBIGUOUS.test(path)) return [path]
  const readings = new Set([path])
  // What is added while a set is walked through is come to as well.
  for (const reading of readings) {
    if (DOT_SEGMENT.test(reading) || readings.size > READINGS_MAX) return null
    for (const read of READERS) readings.add(read(reading))
  }
  return [...readings]
}

/** What else than "%2F" is read in several ways. */
const OTHERWISE_AMBIGUOUS = /;|%5c|%3b|\/\//i

/** Whether a prefix or an expression of a route writes "%2F", and `path` can be read in several ways for that alone. */
export function meansSlashes(written: string, path: string): boolean {
  return written.search(ESCAPED_SLASH) >= 0 && !OTHERWISE_AMBIGUOUS.test(path)
}
