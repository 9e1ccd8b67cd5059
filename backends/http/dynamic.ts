/** A forward proxy: the destination is the one that the request names (docs/specification.md#dynamic-forward-proxy). */

import type { DynamicBackend } from '#backends/http/config/snapshot.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { hasBeenHere, VIA } from '#engine/http/via.ts'
import { Lru } from '#engine/kit/lru.ts'
import { dynamicConfig } from './config/plain.ts'
import { proxyProtocol, spokenHttp } from './spoken.ts'

/** Destinations remembered per backend: clients choose the names, so the memory must be bounded. */
const ENDPOINTS_MAX = 1024

// --- build time ---

function compile(backend: DynamicBackend, context: BackendContext): CompiledBackend {
  const { name, upstream, connectTimeoutMs, fail } = context
  // Names of private and metadata addresses resolve too: the guard looks at the address dialled.
  const spoken = { http: spokenHttp(backend.http), ...proxyProtocol(backend.transport) }
  const base = { guarded: true, allow: backend.allowAddresses, connectTimeoutMs, ...spoken }
  const portDefault = (backend.transport?.tls ?? null) === null ? 80 : 443
  const isAuto = context.hostRewrite === 'auto'
  const endpoints = new Lru<string, Endpoint>(ENDPOINTS_MAX)

  // --- request time ---

  function find(authority: string): Endpoint | null {
    const known = endpoints.get(authority)
    if (known !== undefined) return known
    const parsed = parseAuthority(authority)
    if (parsed === null) return null
    const destination = { host: parsed.host, port: parsed.port ?? portDefault, unixPath: null }
    const options = endpointOptions({ host: parsed.host, hasTls: false }, backend.transport, base)
    const endpoint = upstream.endpoint(destination, options)
    endpoints.set(authority, endpoint)
    return endpoint
  }

  return {
    // Each request names its own destination: the backend as a whole is never out of reach.
    isUsable: () => true,
    serve: (ex) => {
      ex.backend = name
      ex.backendType = dynamicBackend
      // A client may name this very gateway as destination, and then only this ends the circle.
      if (hasBeenHere(ex.request)) {
        fail(ex, 'LOOP_DETECTED')
        return
      }
      const endpoint = find(ex.authority)
      if (endpoint === null) {
        fail(ex, 'BAD_HOST')
        return
      }
      // By default the client's own spelling passes: it names the destination already.
      if (isAuto && ex.upstreamHost === null) ex.upstreamHost = endpoint.hostHeader
      ex.request.append('Via', VIA)
      upstream.send(ex, endpoint)
    }
  }
}

export const dynamicBackend: BackendKind = {
  kind: 'dynamic',
  protocol: 'http',
  config: dynamicConfig,
  stream: ({ allowAddresses, transport }: DynamicBackend) => ({
    to: null,
    guarded: true,
    allow: allowAddresses,
    transport
  }),
  compile
}
