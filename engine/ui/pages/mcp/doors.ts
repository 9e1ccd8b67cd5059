/** Routes that lead to MCP servers. */

import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { Answer } from '#engine/ui/api/client.ts'

export interface McpDoor {
  readonly title: string
  readonly url: string
  /** Names of the servers behind it, with what they are. */
  readonly targets: readonly { readonly name: string; readonly kind: string }[]
}

interface McpBackend {
  readonly kind: string
  readonly targets?: readonly {
    readonly name: string
    readonly kind?: string
    readonly transport?: { readonly kind?: string }
  }[]
}

export function mcpDoorsOf({ snapshot }: Answer<'getConfiguration'>): readonly McpDoor[] {
  const { binds, backends } = snapshot as unknown as Snapshot
  return binds.flatMap(({ port, listeners }) =>
    listeners.flatMap(({ name, hostname, protocol, routes }) =>
      routes.flatMap((route): McpDoor[] => {
        const found = route.backends
          .map(({ backend }) => backends[backend] as McpBackend | undefined)
          .find((backend) => backend?.kind === 'mcp')
        if (found === undefined) return []
        const host = hostname === '*' ? 'localhost' : hostname.replace('*.', 'any.')
        const path = route.matches[0]?.path ?? { prefix: '/' }
        const where = 'exact' in path ? path.exact : 'prefix' in path && path.prefix !== '/' ? path.prefix : '/mcp'
        return [
          {
            title: `:${port} ${name}, ${route.name}`,
            url: `${protocol === 'HTTPS' ? 'https' : 'http'}://${host}:${port}${where}`,
            targets: (found.targets ?? []).map((one) => ({
              name: one.name,
              kind: one.kind ?? one.transport?.kind ?? ''
            }))
          }
        ]
      })
    )
  )
}
