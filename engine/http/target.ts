/** Request targets (RFC 9112 section 3.2) and authorities (RFC 3986 section 3.2). */
import { parseAuthority } from './authority.ts'

export interface Target {
  /** Authority of an absolute-form target, lower case, or null for origin-form. */
  authority: string | null
  path: string
  /** With its "?", or "". */
  query: string
}

/** The last one that passed: connections ask for the same host over and over. */
let lastGood = ''

/**
 * Whether `value` (lower case) can be a Host: a name or an address that could be dialled, and a port from 1 to 65535 or
 * none. RFC 3986 section 3.2 has more (escapes, sub-delimiters, empty ports), which no real name has and servers read
 * in different ways.
 */
export function isAuthority(value: string): boolean {
  if (value === lastGood) return value !== ''
  if (parseAuthority(value) === null) return false
  lastGood = value
  return true
}

/**
 * Takes a request target apart: origin-form ("/path?query"), absolute-form ("http://host/path") or
 * "*" for OPTIONS. The path stays as received: what becomes of it is the listener's to say (path.ts), which is not
 * known yet. Null: none of these forms.
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
    path,
    query: mark < 0 ? '' : target.substring(mark)
  }
}
