/** Where a request carries a credential: a header, a query parameter or a cookie; found and taken out. */

import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { KeyLocation } from '#engine/contract/route.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { keyHeader } from '#engine/schema/credential.ts'
import { tinyString, z } from '#engine/schema/schema.ts'
import { withoutBlanks } from './text.ts'

export type Location =
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string }
  | { readonly kind: 'query' | 'cookie'; readonly name: string }

/** More than one credential where one belongs: which one holds would be a guess. */
export const SEVERAL = Symbol('several credentials')

/** Cookie names are tokens (RFC 6265 section 4.1.1); so are all sensible names of parameters. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/
const parameter = () => z.strictObject({ name: tinyString().regex(TOKEN, 'must be a name without spaces') })

/** Exactly one of header, queryParameter and cookie. */
export const location = () =>
  oneOf({
    header: keyHeader().optional(),
    queryParameter: parameter().optional(),
    cookie: parameter().optional()
  }).transform(({ header, queryParameter, cookie }): Location => {
    if (header !== undefined) return { kind: 'header', name: header.name, prefix: header.prefix ?? '' }
    return queryParameter !== undefined
      ? { kind: 'query', name: queryParameter.name }
      : { kind: 'cookie', name: cookie!.name }
  })

/** Where it is, for people. */
export function placeText(at: Location): string {
  if (at.kind !== 'header') return `the ${at.kind === 'query' ? 'query parameter' : 'cookie'} ${at.name}`
  return at.prefix === '' ? `the header ${at.name}` : `the header ${at.name} with the prefix "${at.prefix.trimEnd()}"`
}

/** RFC 6750 section 2.1. */
export const BEARER: Location = { kind: 'header', name: 'authorization', prefix: 'Bearer ' }

const SPACE = 32

export interface Credential {
  /** The credential without its prefix, its bytes as latin1 text; null: there is none, or one with another prefix. */
  readonly find: (ex: Exchange) => string | typeof SEVERAL | null
  /**
   * Takes out what `find` found; what stands around it stays as it was. It is kept in ex.identity, for a
   * backend that it may be passed on to.
   */
  readonly take: (ex: Exchange, found: string) => void
  /** Takes out whatever is there, of a request that is refused: expressions of the access log read what is left. */
  readonly hide: (ex: Exchange) => void
}

/** By the list that a kind of backend has: few, and made once. */
const known = new WeakMap<readonly KeyLocation[], readonly Credential[]>()

/**
 * The credential that `ex` shows in the first of Route.keyLocations that has one, beside Authorization. Null:
 * there is none. Asked only where Authorization has none.
 */
export function credentialElsewhere(ex: Exchange): Credential | null {
  const places = ex.route?.keyLocations ?? null
  if (places === null) return null
  let credentials = known.get(places)
  if (credentials === undefined) {
    credentials = places.map(({ kind, name }) => (kind === 'header' ? inHeader(name, '') : inQuery(name)))
    known.set(places, credentials)
  }
  return credentials.find((credential) => credential.find(ex) !== null) ?? null
}

export function credentialAt(at: Location): Credential {
  if (at.kind === 'header') return inHeader(at.name, at.prefix)
  return at.kind === 'query' ? inQuery(at.name) : inCookie(at.name)
}

function inHeader(name: string, prefix: string): Credential {
  const lower = prefix.toLowerCase()
  const names = [name]
  return {
    find(ex) {
      const { request } = ex
      const i = request.find(name, 0)
      if (i >= 0 && request.find(name, i + 1) >= 0) return SEVERAL
      const value = i >= 0 ? request.value(i) : request.added === null ? undefined : request.get(name)
      if (value === undefined || value === '') return null
      if (prefix === '') return value
      if (value.length <= prefix.length) return null
      // As a rule it is written as configured; the scheme's case does not matter (RFC 9110 section 11.1).
      if (!value.startsWith(prefix) && value.slice(0, prefix.length).toLowerCase() !== lower) return null
      return value.charCodeAt(prefix.length) === SPACE
        ? withoutBlanks(value.slice(prefix.length))
        : value.slice(prefix.length)
    },
    take(ex) {
      const { request } = ex
      const i = request.find(name, 0)
      const value = i >= 0 ? request.value(i) : request.get(name)!
      request.strip(names)
      keep(ex, name, value)
    },
    hide: (ex) => ex.request.strip(names)
  }
}

function inQuery(name: string): Credential {
  const plain = (part: string) => part.length > name.length && part.startsWith(name) && part[name.length] === '='
  // A backend reads `%6Bey=` as `key=`: a twin is the same credential, not one that is left over.
  const isIt = (part: string) => plain(part) || (part.includes('%') && decodeQuery(part.split('=', 1)[0]!) === name)
  const hide = (ex: Exchange) => {
    const rest = ex.query
      .slice(1)
      .split('&')
      .filter((part) => !isIt(part))
    ex.query = rest.length === 0 ? '' : `?${rest.join('&')}`
  }
  return {
    find(ex) {
      if (!ex.query.includes(name) && !ex.query.includes('%')) return null
      return onlyOne(ex.query.slice(1).split('&').filter(isIt), (part) => decodeQuery(part.slice(valueAt(part))))
    },
    hide,
    take(ex, found) {
      hide(ex)
      // No header held it; a backend that it is passed on to expects it here.
      keep(ex, 'authorization', `Bearer ${found}`)
    }
  }
}

/** Behind the first "=", or at the end. */
function valueAt(part: string): number {
  const at = part.indexOf('=')
  return at < 0 ? part.length : at + 1
}

function inCookie(name: string): Credential {
  const isIt = (pair: string) => withoutBlanks(pair).startsWith(`${name}=`)
  const hide = (ex: Exchange) => {
    const lines = cookieLines(ex)
    ex.request.remove('cookie')
    for (const line of lines) {
      // Pairs and blanks that stay are those that were received (RFC 6265 section 5.4 has "; " between them).
      const pairs = line.split(';')
      const rest = pairs.filter((pair) => !isIt(pair))
      if (rest.length < pairs.length && withoutBlanks(rest.join('')) === '') continue
      ex.request.append('cookie', rest.length < pairs.length ? withoutBlanks(rest.join(';')) : line)
    }
  }
  return {
    find(ex) {
      if (!ex.request.has('cookie')) return null
      const pairs = cookieLines(ex).flatMap((line) => line.split(';').filter(isIt))
      return onlyOne(pairs, (pair) => unquote(withoutBlanks(pair).slice(name.length + 1)))
    },
    hide,
    take(ex, found) {
      hide(ex)
      keep(ex, 'authorization', `Bearer ${found}`)
    }
  }
}

/** HTTP/2 clients may send one line per cookie (RFC 9113 section 8.2.3). */
function cookieLines(ex: Exchange): string[] {
  const lines: string[] = []
  ex.request.forEach((name, value) => {
    if (name.length === 6 && name.toLowerCase() === 'cookie') lines.push(value)
  })
  return lines
}

function onlyOne(all: readonly string[], read: (text: string) => string): string | typeof SEVERAL | null {
  if (all.length > 1) return SEVERAL
  const value = all.length === 0 ? '' : read(all[0]!)
  return value === '' ? null : value
}

/** Percent-decoded bytes as latin1 text, as headers are. What is no escape stands for itself. */
function decodeQuery(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

function keep(ex: Exchange, name: string, value: string): void {
  // One array for the usual one credential; a second one is rare.
  const identity = identityOf(ex)
  const { credentials } = identity
  identity.credentials = credentials === null ? [name, value] : credentials.concat(name, value)
}
