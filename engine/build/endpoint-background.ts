/** What endpoints do beside requests (active checks) while a configuration that has them is in force. */
import type { CompiledBackend, UpstreamClient } from '#engine/contract/backend.ts'
import type { Background } from '#engine/contract/filter.ts'

interface Noting {
  readonly upstream: UpstreamClient
  /** Of the endpoints that were asked for so far; those of clients' choosing come later, and have none. */
  readonly background: () => readonly Background[]
}

/** `upstream`, with a list of what is asked of it while a backend is compiled. */
export function notingBackground(upstream: UpstreamClient): Noting {
  const all = new Set<Background>()
  return {
    background: () => [...all],
    upstream: {
      setHosts: (endpoint, hosts) => upstream.setHosts(endpoint, hosts),
      send: (ex, endpoint) => upstream.send(ex, endpoint),
      endpoint(destination, options) {
        const endpoint = upstream.endpoint(destination, options)
        if (endpoint.background !== undefined) all.add(endpoint.background)
        return endpoint
      }
    }
  }
}

export function withBackground(compiled: CompiledBackend, more: () => readonly Background[]): CompiledBackend {
  const { background } = compiled
  const all = [...(background === undefined ? [] : [background]), ...more()]
  if (all.length === (background === undefined ? 0 : 1)) return compiled
  return {
    ...compiled,
    background: {
      begin() {
        for (const work of all) work.begin()
      },
      end() {
        for (const work of all) work.end()
      }
    }
  }
}
