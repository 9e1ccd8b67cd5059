/** Configuration of plain servers: one that is named, and the one that a request names. */

import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { comparedHost } from '#backends/http/allowed-hosts.ts'
import type { AllowedHost, DynamicBackend, PlainBackend, StaticBackend } from '#backends/http/config/snapshot.ts'
import { refusedAuth } from '#backends/shared/auth/check.ts'
import {
  allLevels,
  type BackendConfig,
  type BackendKey,
  type PolicyLevels,
  type TranslateContext
} from '#engine/contract/backend-config.ts'
import { activeCheckPolicies } from '#engine/contract/backend-transport/active-checks.ts'
import { proxyHeaderPolicies } from '#engine/contract/backend-transport/policies.ts'
import type { WeightedHost } from '#engine/contract/endpoint.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { realKeys } from '#engine/schema/names.ts'
import { cidr, host, port, type Target, target } from '#engine/schema/net.ts'
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'
import { list, refusedKeys, says, whole, z } from '#engine/schema/schema.ts'
import { describedInResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import { httpPolicies, mergedHttp } from './policies.ts'

/** Of lists (docs/specification.md#leaf-types). */
const ADDRESSES_MAX = 64
const ALLOWED_HOSTS_MAX = 1024

const HOST_EXPECTED = 'must be a host, "*.domain", or one of them with a port: "host:8443"'

const allowedHost = () =>
  z.string({ error: says(HOST_EXPECTED) }).transform((text, context): AllowedHost => {
    const isBelow = text.startsWith('*.')
    const parsed = parseAuthority(isBelow ? text.slice(2) : text)
    if (parsed === null || (isBelow && isIP(parsed.host) !== 0)) {
      context.addIssue({ code: 'custom', message: HOST_EXPECTED })
      return z.NEVER
    }
    return { host: `${isBelow ? '.' : ''}${comparedHost(parsed.host)}`, port: parsed.port }
  })

const dynamicSchema = () =>
  z.strictObject({
    allowAddresses: list(cidr(), 1, ADDRESSES_MAX)
      .optional()
      .describe('Private, loopback, link-local and metadata addresses that may be reached nevertheless.'),
    allowHosts: list(allowedHost(), 1, ALLOWED_HOSTS_MAX)
      .optional()
      .describe('The only hosts that may be reached: "host", "*.domain", or "host:port" for another port.'),
    ...refusedKeys('dynamic backend setting', ['target'])
  })

type FileDynamic = z.output<ReturnType<typeof dynamicSchema>>

const address = () => target().optional().describe('"host:port", "[address]:port" or "unix:/path".')
const BY_REQUEST = 'Sends to the host that the request names.'
const byRequest = () => dynamicSchema().describe(BY_REQUEST).optional()

const WEIGHT_MAX = 1_000
const HOSTS_MAX = 256

const oneHost = () =>
  z.strictObject({
    host: target().describe('"host:port", "[address]:port" or "unix:/path".'),
    weight: whole(1, WEIGHT_MAX).optional().describe('Its share beside the others. Default 1.')
  })

const severalHosts = () =>
  list(z.union([target(), oneHost()]), 1, HOSTS_MAX)
    .transform((hosts): readonly WeightedHost[] => hosts.map(weightedHost))
    .check(
      together<readonly WeightedHost[]>([], ({ value, issues }) => {
        const names = value.map(({ host, port, unixPath }) => unixPath ?? `${host}:${port}`)
        names.forEach((name, i) => {
          const first = names.indexOf(name)
          const message = `is ${name} again, which entry ${first} has: give it a weight there`
          if (first < i) issues.push({ code: 'custom', path: [i], message, input: value })
        })
      })
    )
    .optional()
    .describe('Several servers that do the same: "host:port", or { host, weight }.')

function weightedHost(one: Target | z.output<ReturnType<typeof oneHost>>): WeightedHost {
  return 'port' in one ? { ...one, weight: 1 } : { ...one.host, weight: one.weight ?? 1 }
}

const STATIC_KEYS: readonly BackendKey[] = [
  { name: 'host', schema: onlyInFiles(address()), tcpSchema: address() },
  { name: 'hosts', schema: onlyInFiles(severalHosts()), tcpSchema: severalHosts() },
  {
    name: 'static',
    schema: z.strictObject({ host: host(), port: port() }).optional().describe('One host and port.'),
    isNamedOnly: true
  }
]

const DYNAMIC_KEYS: readonly BackendKey[] = [
  {
    name: 'dynamic',
    schema: onlyInFiles(byRequest()),
    tcpSchema: dynamicSchema()
      .optional()
      .describe('Sends to the server that the client names (SNI), on the port of the listener. TLS only.'),
    needsServerName: true
  },
  {
    name: 'dynamicForwardProxy',
    schema: describedInResources(byRequest(), BY_REQUEST).describe('Another name of dynamic.'),
    isAlias: true,
    isNamedOnly: true
  }
]

const COMMON = {
  isPlain: true,
  policies: [httpPolicies, proxyHeaderPolicies],
  differs: (levels: PolicyLevels) =>
    !isDeepStrictEqual(mergedHttp(allLevels(levels)), mergedHttp([levels.gateway, levels.own]))
} satisfies Partial<BackendConfig>

export const staticConfig: BackendConfig = {
  ...COMMON,
  policies: [...COMMON.policies, activeCheckPolicies],
  isServer: true,
  keys: STATIC_KEYS,
  translate(_key, servers: Target | readonly WeightedHost[], context): StaticBackend {
    const { policies } = context
    const isGroup = 'length' in servers
    const { host: name, port: at, unixPath = null } = isGroup ? servers[0]! : servers
    const more = isGroup ? { hosts: servers } : {}
    return reached({ kind: 'static', host: name, port: at, unixPath, ...more, policies }, context)
  },
  checkAuth(auth, { raw }) {
    if (raw.hosts === undefined) return refusedAuth(auth, hostOf(raw))
    return realKeys(auth).aws === undefined ? refusedAuth(auth, null) : ONE_HOST
  }
}

/** Null: a unix socket. What is no address is refused by the schema. */
function hostOf({ host: address, static: server }: Raw): string | null {
  if (typeof address !== 'string') return text(objectOf(server).host) ?? ''
  return address.startsWith('unix:') ? null : (parseAuthority(address)?.host ?? '')
}

const ONE_HOST =
  'means nothing with hosts: a signature covers the host, which is chosen later; use a backend with host for each of them'

const HOSTS_NEEDED =
  'needs dynamic.allowHosts on this backend: the client names the host, and would be shown the credential by one of its own'

export const dynamicConfig: BackendConfig = {
  ...COMMON,
  keys: DYNAMIC_KEYS,
  translate(_key, { allowAddresses = [], allowHosts }: FileDynamic, context): DynamicBackend {
    const hosts = allowHosts === undefined ? {} : { allowHosts }
    return reached({ kind: 'dynamic', allowAddresses, ...hosts, policies: context.policies }, context)
  },
  checkAuth(auth, { value: { raw } }) {
    // A client's own token may go where the client says.
    if (auth.passthrough !== undefined) return null
    return raw.allowHosts === undefined ? HOSTS_NEEDED : refusedAuth(auth, null)
  }
}

/** With the policies for connections, for HTTP and for authentication around it. */
function reached<T extends PlainBackend>(plain: T, { levels, transportOf, authOf }: TranslateContext): T {
  const transport = transportOf()
  const auth = authOf()
  const http = mergedHttp(allLevels(levels))
  return {
    ...plain,
    ...(transport === undefined ? {} : { transport }),
    ...(http === null ? {} : { http }),
    ...(auth === undefined ? {} : { auth })
  }
}
