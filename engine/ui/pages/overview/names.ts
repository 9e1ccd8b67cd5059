/** Which backends of the configuration are at a destination: people know names, not addresses. */
import type { Answer } from '#engine/ui/api/client.ts'

/** Deeper there are policies, which name servers of their own. */
const DEPTH_MAX = 6

/** Names by destination ("shop.internal:80"). One destination may be that of several. */
export function namesByDestination({ snapshot }: Answer<'getConfiguration'>): ReadonlyMap<string, readonly string[]> {
  const { backends = {} } = snapshot as { readonly backends?: Readonly<Record<string, unknown>> }
  const found = new Map<string, string[]>()
  for (const [name, backend] of Object.entries(backends)) {
    for (const destination of new Set(destinationsIn(backend, 0))) {
      found.set(destination, [...(found.get(destination) ?? []), name])
    }
  }
  return found
}

function destinationsIn(value: unknown, depth: number): string[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return []
  const { host, port } = value as { readonly host?: unknown; readonly port?: unknown }
  const own = typeof host === 'string' && typeof port === 'number' ? [`${host}:${port}`] : []
  const inner = Object.entries(value).filter(([key]) => key !== 'policies')
  return [...own, ...inner.flatMap(([, one]) => destinationsIn(one, depth + 1))]
}
