/** Configuration of plain servers: one that is named, and the one that a request names. */
import { isDeepStrictEqual } from 'node:util'
import type { DynamicBackend, PlainBackend, StaticBackend } from '#backends/http/config/snapshot.ts'
import {
  allLevels,
  type BackendConfig,
  type BackendKey,
  type PolicyLevels,
  type TranslateContext
} from '#engine/contract/backend-config.ts'
import { proxyHeaderPolicies } from '#engine/contract/backend-transport/policies.ts'
import type { WeightedHost } from '#engine/contract/endpoint.ts'
import { cidr, host, port, type Target, target } from '#engine/schema/net.ts'
import { text } from '#engine/schema/placed.ts'
import { list, refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'
import { httpPolicies, mergedHttp } from './policies.ts'

/** Of lists (docs/specification.md#leaf-types). */
const ADDRESSES_MAX = 64

const dynamicSchema = () =>
  z.strictObject({
    allowAddresses: list(cidr(), 1, ADDRESSES_MAX)
      .optional()
      .describe('Private, loopback, link-local and metadata addresses that may be reached nevertheless.'),
    ...refusedKeys('dynamic backend setting', ['target'])
  })

type FileDynamic = z.output<ReturnType<typeof dynamicSchema>>

const address = () => target().optional().describe('"host:port", "[address]:port" or "unix:/path".')
const byRequest = () => dynamicSchema().describe('Sends to the host that the request names.').optional()

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
  { name: 'host', schema: address(), tcpSchema: address() },
  { name: 'hosts', schema: severalHosts(), tcpSchema: severalHosts() },
  {
    name: 'static',
    schema: z.strictObject({ host: host(), port: port() }).optional().describe('One host and port.'),
    isNamedOnly: true
  }
]

const DYNAMIC_KEYS: readonly BackendKey[] = [
  {
    name: 'dynamic',
    schema: byRequest(),
    tcpSchema: dynamicSchema()
      .optional()
      .describe('Sends to the server that the client names (SNI), on the port of the listener. TLS only.'),
    needsServerName: true
  },
  {
    name: 'dynamicForwardProxy',
    schema: byRequest().describe('Another name of dynamic.'),
    isAlias: true,
    isNamedOnly: true
  }
]

const COMMON = {
  isPlain: true,
  policies: [httpPolicies, proxyHeaderPolicies],
  label: (raw) => text(raw.host) ?? (raw.hosts === undefined ? 'a dynamic one' : 'one of several hosts'),
  differs: (levels: PolicyLevels) =>
    !isDeepStrictEqual(mergedHttp(allLevels(levels)), mergedHttp([levels.gateway, levels.own]))
} satisfies Partial<BackendConfig>

export const staticConfig: BackendConfig = {
  ...COMMON,
  isServer: true,
  keys: STATIC_KEYS,
  translate(_key, servers: Target | readonly WeightedHost[], context): StaticBackend {
    const { policies } = context
    const isGroup = 'length' in servers
    const { host: name, port: at, unixPath = null } = isGroup ? servers[0]! : servers
    const more = isGroup ? { hosts: servers } : {}
    return reached({ kind: 'static', host: name, port: at, unixPath, ...more, policies }, context)
  }
}

export const dynamicConfig: BackendConfig = {
  ...COMMON,
  keys: DYNAMIC_KEYS,
  translate(_key, { allowAddresses = [] }: FileDynamic, context): DynamicBackend {
    return reached({ kind: 'dynamic', allowAddresses, policies: context.policies }, context)
  }
}

/** With the policies for connections and for HTTP around it. */
function reached<T extends PlainBackend>(plain: T, { levels, transportOf }: TranslateContext): T {
  const transport = transportOf()
  const http = mergedHttp(allLevels(levels))
  return { ...plain, ...(transport === undefined ? {} : { transport }), ...(http === null ? {} : { http }) }
}
