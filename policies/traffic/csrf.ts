/**
 * spec.traffic.csrf: refuses requests that another site makes a browser send. Three rules (docs/specification.md#csrf):
 * methods that change nothing pass; so does a request without Sec-Fetch-Site and Origin, since no browser of
 * today sends a cross-site request without both; of others Sec-Fetch-Site decides, and without it Origin
 * against Host.
 *
 * Where the rules leave a choice it is made against the attacker: Origin "null" matches no site, and two lines of
 * one of these headers, which no browser sends, count as a value that is not known.
 */
import { placeOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { deferred, list, z } from '#engine/schema/schema.ts'
import { onlyValue } from '#policies/shared/only-value.ts'
import { defaultPort, hostText, originSchema, originText, parseOrigin } from '#policies/shared/origin.ts'
import { shownText } from '#policies/shared/text.ts'

const schema = deferred(() =>
  z.strictObject({
    additionalOrigins: list(originSchema(), 1, 16)
      .optional()
      .describe(
        'Other origins that may send requests: <scheme>://<host>, with :<port> unless it is that of the scheme.'
      )
  })
)

// --- build time ---

function compile({ additionalOrigins = [] }: z.output<typeof schema>): Compiled {
  const listed = new Set(additionalOrigins)
  const why = (ex: Exchange) => refusal(ex, listed)
  return {
    filter: {
      onRequest: (ex) => (isSafe(ex.method) || isOwn(ex, listed) ? CONTINUE : refuse(ex, 'CSRF_REFUSED', null, why))
    }
  }
}

/** What was compared, for the log. */
function refusal(ex: Exchange, listed: ReadonlySet<string>): string {
  const shownHeader = (name: string) => {
    const value = onlyValue(ex.request, name)
    if (value === undefined) return `no ${name}`
    return value === null ? `${name} more than once` : `${name} ${shownText(value)}`
  }
  const others = listed.size === 0 ? 'no additionalOrigins' : `additionalOrigins ${[...listed].join(' ')}`
  return (
    `${placeOf(ex, 'csrf')}: ${ex.method} with ${shownHeader('sec-fetch-site')}, ${shownHeader('origin')}, ` +
    `sent to ${shownText(ex.authority)}; ${others}`
  )
}

// --- request time ---

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

function isOwn(ex: Exchange, listed: ReadonlySet<string>): boolean {
  const { request } = ex
  const site = onlyValue(request, 'sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return true
  const origin = onlyValue(request, 'origin')
  if (origin === undefined) return site === undefined
  if (origin === null) return false
  return (site === undefined && isSame(origin, ex)) || isListed(origin, listed)
}

/**
 * Whether the origin has the host and port that the request was sent to. The scheme only where TLS ends here: behind
 * something else that ends it the origin is https and the request is not.
 */
function isSame(origin: string, { authority, client }: Exchange): boolean {
  if (authority === '' || (client.tls != null && !origin.startsWith('https:'))) return false
  const start = origin.length - authority.length
  // As browsers write both, which is nearly always: no port that the scheme implies, lower case.
  if (start === 8 && origin.startsWith('https://') && origin.endsWith(authority)) return true
  if (start === 7 && origin.startsWith('http://') && origin.endsWith(authority)) return true
  const from = parseOrigin(origin)
  const to = parseAuthority(authority)
  if (from === null || to === null) return false
  return from.host === hostText(to.host) && from.port === (to.port ?? defaultPort(from.scheme))
}

function isListed(origin: string, listed: ReadonlySet<string>): boolean {
  if (listed.size === 0) return false
  if (listed.has(origin)) return true
  const parsed = parseOrigin(origin)
  return parsed !== null && listed.has(originText(parsed))
}

// Closed: no origin but the own one.
export const csrf: Policy = { name: 'csrf', section: 'traffic', schema, aliases: [], closed: {}, compile }
