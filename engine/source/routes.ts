/** `binds`, `backends` and everything below: the schema of what is served and where it goes. */

import type { Policy } from '#engine/contract/policy.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { headerName, method, path, regexSource } from '#engine/schema/http.ts'
import { hostname, port } from '#engine/schema/net.ts'
import { remember } from '#engine/schema/remember.ts'
import { requestFields } from '#engine/schema/request-rules.ts'
import { fullName, list, name, refusedKeys, shortString, whole, z } from '#engine/schema/schema.ts'
import { keysOf, withName } from './backend-keys.ts'
import type { Kinds } from './kinds.ts'
import { policySchema, policySetsSchema } from './policies.ts'
import { tcpRouteSchema } from './tcp-routes.ts'
import { listenerTlsSchema } from './tls/schema.ts'

/** Of maps and lists of names (docs/specification.md#leaf-types). */
const NAMES_MAX = 64
const WEIGHT_MAX = 1_000_000
const ENTRIES_MAX = 100_000
const PSEUDO = [':authority', ':method', ':path', ':scheme']

const valueMatch = () =>
  oneOf({
    exact: z.string().max(4096).optional().describe('The whole value.'),
    regex: regexSource().optional().describe('RE2 expression that matches the whole value.')
  })

const matchSchema = z.strictObject({
  path: oneOf({
    exact: path().optional().describe('The whole path.'),
    pathPrefix: path().optional().describe('The path or its first segments: /a is a prefix of /a/b, not of /ab.'),
    regex: regexSource().optional().describe('RE2 expression that matches the whole path.')
  })
    .optional()
    .describe('Default: every path.'),
  method: method().optional().describe('Default: every method.'),
  headers: list(
    z.strictObject({
      name: headerName()
        .refine(
          (text) => !text.startsWith(':') || PSEUDO.includes(text),
          `must be a header name, or ${PSEUDO.join(', ')}`
        )
        .describe('In any case; :authority, :method, :path and :scheme are the parts of the request line.'),
      value: valueMatch()
    }),
    0,
    NAMES_MAX
  )
    .optional()
    .describe('Header fields that must all match.'),
  query: list(z.strictObject({ name: shortString(), value: valueMatch() }), 0, NAMES_MAX)
    .optional()
    .describe('Query parameters that must all match.')
})

const weight = () => whole(0, WEIGHT_MAX).optional().describe('Share of the traffic; 0 is none. Default 1.')

const protocol = () =>
  z
    .enum(['HTTP', 'HTTPS', 'TLS', 'TCP'], { error: protocolMessage })
    .optional()
    .describe(
      'HTTPS: HTTP behind tls. TCP, TLS: bytes are passed on by tcpRoutes; TLS ends here with tls. Default HTTP.'
    )

const tunnelProtocol = () =>
  z
    .enum(['direct', 'proxy'])
    .optional()
    .describe(
      'proxy: connections begin with a PROXY header, as frontendPolicies.proxyProtocol says. direct: none does.'
    )

/** The whole of what a configuration may have below `binds` and `backends`. */
export function routeSchemas(policies: readonly Policy[], kinds: Kinds) {
  const onRoute = policySchema(policies, kinds, 'route').meta({ id: 'RoutePolicies' })
  const sets = policySetsSchema(onRoute)
  const onBackend = policySchema(policies, kinds, 'backend').meta({ id: 'BackendPolicies' })
  const onReference = policySchema(policies, kinds, 'reference').meta({ id: 'ReferencePolicies' })

  const destination = oneOf(
    {
      ...withName(keysOf(kinds, ({ isNamedOnly, schema }) => (isNamedOnly ? undefined : schema))),
      ...refusedKeys('backend kind', ['aws', 'internal', 'invalid', 'routeGroup', 'service'])
    },
    {
      weight: weight(),
      policies: onReference.optional().describe('For requests that go to this one of the backends.')
    }
  )

  const route = z.strictObject({
    name: fullName().optional().describe('Default route0, route1, ... in the order of the listener.'),
    hostnames: list(hostname(), 0, ENTRIES_MAX).optional().describe('Default: every host of the listener.'),
    matches: list(matchSchema, 0, ENTRIES_MAX).optional().describe('Any of them. Default: every path.'),
    policies: onRoute.optional(),
    backends: list(destination, 0, ENTRIES_MAX).optional(),
    ruleName: name().optional().describe('Name of the rule that this route is, for sectionName of policies.'),
    ...refusedKeys('route setting', ['gateways', 'namespace'])
  })

  const listener = z.strictObject({
    name: fullName().optional().describe('Default listener0, listener1, ... in the order of the file.'),
    hostname: hostname().optional().describe('"example.com", "*.example.com", or "*" for every host. Default "*".'),
    protocol: protocol(),
    policies: sets.optional().describe('For all routes; what a route has itself wins. A list: sets of both phases.'),
    routes: list(remember(route), 0, ENTRIES_MAX).optional(),
    tcpRoutes: list(tcpRouteSchema(kinds), 0, ENTRIES_MAX).optional().describe('Of protocol TCP and TLS.'),
    tls: listenerTlsSchema.optional(),
    ...requestFields,
    ...refusedKeys('listener setting', ['namespace'])
  })

  const bind = z.strictObject({
    port: port().describe('TCP port, on all addresses.'),
    listeners: list(listener, 1, ENTRIES_MAX),
    transport: z
      .enum(['auto', 'node', 'uws'])
      .optional()
      .describe('How bytes are received. Default auto: the fastest that can honour every setting.'),
    tunnelProtocol: tunnelProtocol(),
    ...refusedKeys('bind setting', ['mode'])
  })

  const backend = oneOf(
    {
      ...keysOf(kinds, ({ schema }) => schema),
      ...refusedKeys('backend kind', ['a2a', 'aws', 'internal', 'service'])
    },
    { name: fullName(), policies: onBackend.optional() }
  )

  return {
    binds: list(bind, 0, ENTRIES_MAX),
    backends: list(backend, 0, ENTRIES_MAX),
    policies: onRoute,
    sets
  }
}

const LATER_PROTOCOLS: readonly string[] = ['HBONE']

/** What people take for protocols of listeners. */
const SPOKEN_ANYWAY = /^(HTTP\/?2|H2C?|GRPC|WSS?|WEBSOCKET)$/

function protocolMessage({ input }: { readonly input?: unknown }): string | undefined {
  const name = typeof input === 'string' ? input.toUpperCase() : ''
  if (SPOKEN_ANYWAY.test(name)) return `is HTTP, or HTTPS with tls: both speak ${String(input)} too`
  return LATER_PROTOCOLS.includes(name)
    ? `protocol ${name} is not in this version of weir; HTTP, HTTPS, TLS and TCP are`
    : undefined
}
