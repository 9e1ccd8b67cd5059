/** Request targets (RFC 9112 section 3.2) and authorities (RFC 3986 section 3.2). */

export interface Target {
  /** Authority of an absolute-form target, lower case, or null for origin-form. */
  authority: string | null
  path: string
  /** With its "?", or "". */
  query: string
}

// No comma, although RFC 3986 has it: a proxy before us may have joined two Host fields with one.
const AUTHORITY = /^(?:[a-z0-9_~.!$&'()*+;=%-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/

/** The last one that passed: connections ask for the same host over and over. */
let lastGood = ''

/** Whether `value` (lower case) can be a Host: reg-name or address, port. No user information. */
export function isAuthority(value: string): boolean {
  if (value === lastGood) return value !== ''
  if (!AUTHORITY.test(value)) return false
  lastGood = value
  return true
}

/**
 * Takes a request target apart: origin-form ("/path?query"), absolute-form ("http://host/path") or
 * "*" for OPTIONS. The path is normalized as RFC 3986 sections 6.2.2.2 and 6.2.2.3 allow for every URI:
 * letters that were percent-encoded for no reason are decoded, dot segments resolved. So no route or policy
 * can be passed by "/%61dmin" or "/public/../admin". Everything else stays as received ("//", "%2F"). Null:
 * it is none of these.
 */
export function parseTarget(target: string, method: string): Target | null {
  if (target.charCodeAt(0) === 47) return splitQuery(target, null)
  if (target === '*') return method === 'OPTIONS' ? { authority: null, path: '*', query: '' } : null
  const scheme = /^https?:\/\//i.exec(target)
  if (scheme === null) return null
  const rest = target.slice(scheme[0].length)
  const end = rest.search(/[/?#]/)
  const authority = (end < 0 ? rest : rest.slice(0, end)).toLowerCase()
  if (!isAuthority(authority)) return null
  const tail = end < 0 ? '' : rest.slice(end)
  // OPTIONS without a path asks the server, not a resource (RFC 9112 section 3.2.4).
  if (tail === '' && method === 'OPTIONS') return { authority, path: '*', query: '' }
  return splitQuery(tail.startsWith('/') ? tail : `/${tail}`, authority)
}

function splitQuery(target: string, authority: string | null): Target | null {
  // A fragment never belongs in a request (RFC 9112 section 3.2.1).
  if (target.indexOf('#') >= 0) return null
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.substring(0, mark)
  return {
    authority,
    path: path.indexOf('.') < 0 && path.indexOf('%') < 0 ? path : normalize(path),
    query: mark < 0 ? '' : target.substring(mark)
  }
}

/** Letters, digits and - . _ ~ (RFC 3986 section 2.3), percent-encoded. */
const ENCODED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi
const DOT_SEGMENT = /\/\.{1,2}(?=\/|$)/

function normalize(path: string): string {
  const plain = path.replace(ENCODED_UNRESERVED, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  if (!DOT_SEGMENT.test(plain)) return plain
  const out: string[] = []
  const segments = plain.split('/').slice(1)
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
