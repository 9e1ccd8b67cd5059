/** Taking an authority (RFC 3986 section 3.2: host[:port]) apart. */
import { isIPv6 } from 'node:net'

/** Octets of the longest DNS name (RFC 1035 section 2.3.4, in text form). */
export const HOST_LENGTH_MAX = 253

export interface Authority {
  /** Name or IPv4 literal, or IPv6 literal without brackets. */
  readonly host: string
  /** 1..65535, or null when the authority names none. */
  readonly port: number | null
}

/**
 * The host that listeners and routes are compared with: no port, no final dot, an IPv6 literal with
 * its brackets. The authority is in lower case; nothing is allocated when there is nothing to strip.
 */
export function hostOf(authority: string): string {
  const colon = authority.charCodeAt(0) === 91 ? authority.indexOf(']') + 1 : authority.indexOf(':')
  const host = colon <= 0 || colon === authority.length ? authority : authority.substring(0, colon)
  // "example.com." is the same name, spelled as absolute (RFC 1034 section 3.1).
  return host.length > 1 && host.charCodeAt(host.length - 1) === 46 ? host.substring(0, host.length - 1) : host
}

/** Name or literal of a URL's host, an IPv6 literal without its brackets. */
export function hostnameOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** The port of the authority with its colon (":8080"), or "". */
export function portSuffix(authority: string): string {
  const from = authority.charCodeAt(0) === 91 ? authority.indexOf(']') + 1 : 0
  const colon = authority.indexOf(':', from)
  return colon < 0 ? '' : authority.substring(colon)
}

const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$/
const PORT = /^[0-9]{1,5}$/

/**
 * Host and port of an authority that is about to be dialled or sent, or null when it cannot
 * name a host: user information, empty labels, odd characters, ports outside 1..65535, IPv6 zones.
 */
export function parseAuthority(authority: string): Authority | null {
  const bracketed = authority.charCodeAt(0) === 91
  const end = bracketed ? authority.indexOf(']') + 1 : authority.indexOf(':')
  if (bracketed && end === 0) return null
  const host = end <= 0 ? authority : authority.substring(0, end)
  const rest = authority.substring(host.length)
  let port: number | null = null
  if (rest !== '') {
    const digits = rest.substring(1)
    if (rest.charCodeAt(0) !== 58 || !PORT.test(digits)) return null
    port = Number(digits)
    if (port < 1 || port > 65535) return null
  }
  if (bracketed) {
    const literal = host.substring(1, host.length - 1)
    return isIPv6(literal) && !literal.includes('%') ? { host: literal, port } : null
  }
  return isHostName(host) ? { host, port } : null
}

/** Whether the text can name a host (an IPv4 literal can): no port, no empty label, no odd characters. */
export function isHostName(host: string): boolean {
  return host.length <= HOST_LENGTH_MAX && NAME.test(host) && !host.includes('..')
}
