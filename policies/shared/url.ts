/** What urlRewrite and requestRedirect have in common: replacing the path and the authority of a URL. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { lengthOfPrefix } from '#engine/http/path.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { z } from '#engine/schema/schema.ts'

// Visible ASCII without "?" and "#": what follows would become a query or a fragment.
const PATH = /^\/[!-"$->@-~]*$/
// A second slash at the start (or "\", which browsers read as one) would make the path name a host.
const PLAIN_START = /^\/(?![/\\])/

/** A path as it goes on the wire: percent-encoded, without query. */
export const pathText = () =>
  z
    .string()
    .max(1024)
    .regex(PATH, 'must begin with "/" and be percent-encoded, without "?", "#" or spaces')
    .regex(PLAIN_START, 'must begin with one "/"')

/** `prefix` may be empty: the matched prefix goes away (Gateway API, ReplacePrefixMatch). */
export const pathModifier = () =>
  oneOf({ full: pathText().optional(), prefix: z.union([z.literal(''), pathText()]).optional() })

export interface PathModifier {
  readonly full?: string | undefined
  readonly prefix?: string | undefined
}

/** host[:port] */
export const authorityText = () =>
  z
    .string()
    .max(260)
    .refine((text) => parseAuthority(text) !== null, 'must be a host name or address, with or without ":port"')

/** A name or address without port; IPv6 in brackets. */
export const hostText = () =>
  z
    .string()
    .max(255)
    .refine((text) => parseAuthority(text)?.port === null, 'must be a host name or address without a port')

export const port = () => z.int().min(1).max(65535)

// --- build time ---

/**
 * Throws when the prefix is to be replaced but some match has none: only the route's matches say
 * what part of the path the prefix is. Before routing (phase PreRouting) there is none.
 */
export function checkPathModifier(modifier: PathModifier, context: CompileContext): void {
  if (modifier.prefix === undefined) return
  if (context.matches.length === 0) throw new Error('path.prefix needs the match of a route, which is not known yet')
  const index = context.matches.findIndex((match) => match.kind !== 'prefix')
  if (index < 0) return
  const { kind, path } = context.matches[index]!
  throw new Error(`path.prefix needs prefix matches, but matches[${index}] of the route is ${kind} "${path}"`)
}

// --- request time ---

/** Whether the path is below the prefix that the route was matched by: a policy may have changed it since. */
export function isBelowMatch(path: string, ex: Exchange): boolean {
  return lengthOfPrefix(path, ex.route!.matches[ex.matchIndex]!.path) >= 0
}

/**
 * The path with the modification applied: begins with "/", and adds no octet that was in neither part. One that has
 * not the prefix stays as it is.
 */
export function modifyPath(modifier: PathModifier, path: string, ex: Exchange): string {
  if (modifier.full !== undefined) return modifier.full
  // The match is decoded and the path is not; its final slash does not belong to the match.
  const length = lengthOfPrefix(path, ex.route!.matches[ex.matchIndex]!.path)
  if (length < 0) return path
  const replacement = modifier.prefix!
  const rest = path.substring(length)
  if (rest === '') return replacement === '' ? '/' : replacement
  if (replacement === '' || replacement === '/') return oneLeadingSlash(rest)
  return (replacement.endsWith('/') ? replacement.slice(0, -1) : replacement) + rest
}

/** "//evil.example" resolves to another host; "/evil.example" is a path. */
export function oneLeadingSlash(path: string): string {
  let start = 0
  while (isSlash(path.charCodeAt(start))) start++
  return start === 1 && path.charCodeAt(0) === 47 ? path : `/${path.substring(start)}`
}

/** Browsers read a backslash as a slash (WHATWG URL section 4.4). */
function isSlash(code: number): boolean {
  return code === 47 || code === 92
}
