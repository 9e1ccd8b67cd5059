/** spec.traffic.requestRedirect: sends the client to another URL. The query stays. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { answer } from '#engine/contract/refuse.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import { hostOf, portSuffix } from '#engine/http/authority.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { deferred, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import {
  authorityText,
  checkPathModifier,
  hostText,
  isBelowMatch,
  modifyPath,
  oneLeadingSlash,
  pathModifier,
  port
} from '#policies/shared/url.ts'

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

const schema = deferred(() =>
  z
    .strictObject({
      scheme: z.enum(['http', 'https']).optional(),
      authority: oneOf({
        full: authorityText().optional(),
        host: hostText().optional(),
        port: port().optional()
      }).optional(),
      hostname: hostText().optional(),
      port: port().optional(),
      path: pathModifier().optional(),
      status: z.literal([301, 302, 303, 307, 308]).default(302)
    })
    .refine((config) => config.authority === undefined || (config.hostname ?? config.port) === undefined, {
      when: sound(),
      path: ['authority'],
      message: 'authority says what hostname and port say: give one or the other'
    })
)

type Config = z.output<typeof schema>
/** What Location begins with. */
type Origin = (ex: Exchange) => string

// --- build time ---

function compile(config: Config, context: CompileContext): Compiled {
  const { path, status } = config
  if (path !== undefined) checkPathModifier(path, context)
  const origin = compileOrigin(config)
  return {
    filter: {
      // --- request time ---
      onRequest: (ex) => {
        const target = path === undefined ? ex.originalPath : modifyPath(path, pathFor(ex), ex)
        const location = origin(ex) + oneLeadingSlash(target) + ex.query
        return answer(ex, { status, body: null, contentType: null, headers: ['location', location] })
      }
    }
  }
}

/**
 * The client's own path: a rewrite for the upstream is none of its business. Where a rewrite before routing decided
 * which route was taken, only the rewritten path has the prefix of its match.
 */
function pathFor(ex: Exchange): string {
  return ex.route === null || isBelowMatch(ex.originalPath, ex) ? ex.originalPath : ex.path
}

/**
 * "scheme://authority", or "" when the configuration changes neither: then Location is a path, which
 * stays right behind whatever terminates TLS in front of us (RFC 9110 section 10.2.2).
 */
function compileOrigin({ scheme, authority, hostname, port: number }: Config): Origin {
  const full = authority?.full
  const host = authority?.host ?? hostname
  const portNumber = authority?.port ?? number
  if (scheme === undefined && full === undefined && host === undefined && portNumber === undefined) return () => ''
  return (ex) => {
    const protocol = scheme ?? schemeOf(ex.client)
    if (full !== undefined) return `${protocol}://${full}`
    const name = host ?? hostOf(ex.authority)
    // A request of HTTP/1.0 may come without Host: then there is no authority to point at.
    return name === '' ? '' : `${protocol}://${name}${portText(portNumber, scheme, ex)}`
  }
}

/**
 * The port of Location (Gateway API, HTTPRequestRedirectFilter): the configured one, else the
 * scheme's own when a scheme is configured, else the one that the client reached us on. Never written
 * where the scheme implies it.
 */
function portText(number: number | undefined, scheme: Config['scheme'], { authority, client }: Exchange): string {
  if (number === undefined && scheme !== undefined) return ''
  const suffix = number === undefined ? portSuffix(authority) : `:${number}`
  return suffix === DEFAULT_PORTS[scheme ?? schemeOf(client)] ? '' : suffix
}

export const requestRedirect: Policy = {
  name: 'requestRedirect',
  section: 'traffic',
  schema,
  aliases: [],
  inResources: 'route filter',
  atReferences: true,
  usesMatches: true,
  answersAll: true,
  compile
}
