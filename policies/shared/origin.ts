/** Origins (RFC 6454 section 6, Fetch standard): scheme, host and port, compared in one spelling. */
import { isIPv6 } from 'node:net'
import { parseAuthority } from '#engine/http/authority.ts'
import { shortString } from '#engine/schema/schema.ts'

export interface Origin {
  readonly scheme: string
  /** Lower case; an IPv6 address in brackets and in its shortest form. */
  readonly host: string
  /** 1..65535; that of the scheme when the origin names none; 0 when the scheme has none either. */
  readonly port: number
}

const SCHEME = /^([a-z][a-z0-9+.-]{0,31}):\/\/(?=[^/])/
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, ws: 80, wss: 443 }

export function defaultPort(scheme: string): number {
  return Object.hasOwn(DEFAULT_PORTS, scheme) ? DEFAULT_PORTS[scheme]! : 0
}

/**
 * The parts of an Origin header or of a configured origin, or null when it is none. "null" is none: every
 * page in a sandbox and every file sends it, so it identifies no site.
 */
export function parseOrigin(text: string): Origin | null {
  const lower = text.toLowerCase()
  const scheme = SCHEME.exec(lower)?.[1]
  if (scheme === undefined) return null
  const authority = parseAuthority(lower.substring(scheme.length + 3))
  if (authority === null) return null
  const { host, port } = authority
  return { scheme, host: hostText(host), port: port ?? defaultPort(scheme) }
}

/** A host in its one spelling: the shortest form of an IPv6 address, in brackets. */
export function hostText(host: string): string {
  return isIPv6(host) ? new URL(`http://[${host}]`).hostname : host
}

/** As browsers write it: without the port of the scheme. */
export function originText({ scheme, host, port }: Origin): string {
  return port === 0 || port === defaultPort(scheme) ? `${scheme}://${host}` : `${scheme}://${host}:${port}`
}

const EXPECTED = 'must be an origin such as "https://example.com" or "http://localhost:8080"'

/** One origin of a configuration (docs/specification.md#csrf: `<scheme>://<host>(:<port>)`) -> its one spelling. */
export const originSchema = () =>
  shortString().transform((text, context) => {
    const origin = parseOrigin(text)
    if (origin !== null) return originText(origin)
    context.addIssue({ code: 'custom', message: `${EXPECTED}${advice(text)}` })
    return text
  })

/** What was probably meant. */
export function advice(text: string): string {
  if (text === 'null') return ': every sandboxed page sends null, whoever wrote it'
  if (text.includes('*')) return ': wildcards are not accepted here'
  if (!text.includes('://')) return `: did you mean "https://${text}"?`
  return /:\/\/[^/]*\//.test(text) ? ': an origin has no path' : ''
}
