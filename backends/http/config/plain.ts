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
import { cidr, host, port, type Target, target } from '#engine/schema/net.ts'
import { text } from '#engine/schema/placed.ts'
import { list, refusedKeys, z } from '#engine/schema/schema.ts'
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

const STATIC_KEYS: readonly BackendKey[] = [
  { name: 'host', schema: address(), tcpSchema: address() },
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
  label: (raw) => text(raw.host) ?? 'a dynamic one',
  differs: (levels: PolicyLevels) =>
    !isDeepStrictEqual(mergedHttp(allLevels(levels)), mergedHttp([levels.gateway, levels.own]))
} satisfies Partial<BackendConfig>

export const staticConfig: BackendConfig = {
  ...COMMON,
  isServer: true,
  keys: STATIC_KEYS,
  translate(_key, { host: name, port: at, unixPath = null }: Target, context): StaticBackend {
    return reached({ kind: 'static', host: name, port: at, unixPath, policies: context.policies }, context)
  }
}

export const dynamicConfig: BackendConfig = {
  ...COMMON,
  keys: DYNAMIC_KEYS,
  translate(_key, { allowAddresses = [] }: FileDynamic, context): DynamicBackend {
    return reached({ kind: 'dynamic', allowAddresses, policies: context.policies }, context)
  }
}

/** With what is said of connections and of HTTP around it. */
function reached<T extends PlainBackend>(plain: T, { levels, transportOf }: TranslateContext): T {
  const transport = transportOf()
  const http = mergedHttp(allLevels(levels))
  return { ...plain, ...(transport === undefined ? {} : { transport }), ...(http === null ? {} : { http }) }
}
