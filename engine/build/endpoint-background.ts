/**
 * What goes on beside requests while a configuration is in force that has it: active checks of endpoints, and what
 * backends add while they are compiled.
 */

import type { CompiledBackend, UpstreamClient } from '#engine/contract/backend.ts'
import { type Background, together } from '#engine/contract/background.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'

interface Noted {
  readonly added: Background[]
  readonly credentials: Background[]
  readonly endpoints: Set<Background>
}

/** An upstream, with a list of what is asked of it while a backend is compiled. */
class NotingUpstream implements UpstreamClient {
  readonly #upstream: UpstreamClient
  readonly setHosts: UpstreamClient['setHosts']
  readonly hostsOf: UpstreamClient['hostsOf']
  readonly send: UpstreamClient['send']
  #noted: Noted | null = null

  constructor(upstream: UpstreamClient) {
    this.#upstream = upstream
    this.setHosts = upstream.setHosts.bind(upstream)
    this.hostsOf = upstream.hostsOf.bind(upstream)
    this.send = upstream.send.bind(upstream)
  }

  endpoint(...of: Parameters<UpstreamClient['endpoint']>): Endpoint {
    const endpoint = this.#upstream.endpoint(...of)
    if (endpoint.background !== undefined) this.#noted?.endpoints.add(endpoint.background)
    return endpoint
  }

  checkAs(...of: Parameters<UpstreamClient['checkAs']>): Background {
    const work = this.#upstream.checkAs(...of)
    this.#noted?.credentials.push(work)
    return work
  }

  add(work: Background): void {
    this.#noted?.added.push(work)
  }

  /** Endpoints of clients' choosing are asked for later, and have none. */
  noting(compile: () => CompiledBackend): CompiledBackend {
    const noted: Noted = { added: [], credentials: [], endpoints: new Set() }
    // One backend may compile another.
    const outer = this.#noted
    this.#noted = noted
    try {
      return withBackground(compile(), noted)
    } finally {
      this.#noted = outer
    }
  }
}

/** One for each upstream, over all configurations: backends keep by its identity what survives a reload. */
const known = new WeakMap<UpstreamClient, NotingUpstream>()

export function notingBackground(upstream: UpstreamClient): NotingUpstream {
  const before = known.get(upstream)
  if (before !== undefined) return before
  const noting = new NotingUpstream(upstream)
  known.set(upstream, noting)
  return noting
}

/** Checks begin with what they show. */
function withBackground(compiled: CompiledBackend, { added, credentials, endpoints }: Noted): CompiledBackend {
  if (endpoints.size === 0 && added.length === 0) return compiled
  const { background } = compiled
  const checks = endpoints.size === 0 ? [] : [...credentials, ...endpoints]
  const all = [...added, ...(background === undefined ? [] : [background]), ...checks]
  return { ...compiled, background: together(all) }
}
