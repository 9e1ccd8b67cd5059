/** MCP servers at a host and a port: how configurations name them, whichever transport they speak. */

import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { misplacedKeys, refusedKeys, z } from '#engine/schema/schema.ts'
import { addressFields, addressOf, declaredOnce } from './address.ts'
import type { TargetConnection, TargetKey } from './kind.ts'

export interface McpHttpTarget extends McpTarget {
  readonly kind: 'http' | 'sse'
  readonly host: string
  readonly port: number
  /** With its leading slash and query. */
  readonly path: string
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  readonly auth: TargetConnection['auth']
}

/** The transports that have a host and a port (docs/specification.md#mcp-backends). */
export const TRANSPORTS = [
  { protocol: 'StreamableHTTP', kind: 'http', key: 'mcp', path: '/mcp' },
  { protocol: 'SSE', kind: 'sse', key: 'sse', path: '/sse' }
] as const

const schema = (defaultPath: string) => {
  const { host, port, path } = addressFields()
  return z
    .strictObject({
      host,
      port,
      path: path.describe(`Default ${defaultPath}.`),
      ...misplacedKeys('is called host here, which takes a URL', ['url']),
      ...refusedKeys('address of an MCP target', ['backend', 'service'])
    })
    .check(declaredOnce())
}

/** The key of servers that speak the transport of `kind`. */
export function remoteKey(kind: McpHttpTarget['kind'], description: string): TargetKey<McpHttpTarget> {
  const { key, path: defaultPath } = TRANSPORTS.find((transport) => transport.kind === kind)!
  return {
    name: key,
    schema: () => schema(defaultPath).optional().describe(description),
    translate(value: z.output<ReturnType<typeof schema>>, common, { connection }) {
      const { auth, hasTls, configured } = connection()
      const { path, ...place } = addressOf(value, hasTls)
      return { ...common, kind, ...place, ...configured, path: path ?? defaultPath, auth }
    }
  }
}
