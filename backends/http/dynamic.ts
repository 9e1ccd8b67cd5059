/** A forward proxy: the destination is the one that the request names (docs/specification.md#dynamic-forward-proxy). */

import type { DynamicBackend } from '#backends/http/config/snapshot.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { hasBeenHere, VIA } from '#engine/http/via.ts'
import { Lru } from '#engine/kit/lru.ts'
import { comparedHost, isAllowedHost } from './allowed-hosts.ts'
import { type SendToEndpoint, sendersFor } from './authenticated.ts'
import { dynamicConfig } from './config/plain.ts'
import { proxyProtocol, spokenHttp } from './spoken.ts'

/** Destinations remembered per backend: clients choose the names, so the memory must be bounded. */
const ENDPOINTS_MAX = 1024

interface Destination {
  readonly endpoint: Endpoint
  readonly send: SendToEndpoint
}

// --- build time ---

function compile(backend: DynamicBackend, context: BackendContext): CompiledBackend {
  const { name, upstream, connectTimeoutMs, fail } = context
  // Names of private and metadata addresses resolve too: the guard looks at the address dialled.
  const spoken = { http: spokenHttp(backend.http), ...proxyProtocol(backend.transport) }
  const base = { guarded: true, allow: backend.allowAddresses, connectTimeoutMs, ...spoken }
  const portDefault = (backend.transport?.tls ?? null) === null ? 80 : 443
  const isAuto = context.hostRewrite === 'auto'
  const { allowHosts = null } = backend
  const senderOf = sendersFor(backend.auth, null, context)
  const endpoints = new Lru<string, Destination>(ENDPOINTS_MAX)

  // --- request time ---

  function find(authority: string): Destination | ErrorCode {
    const known = endpoints.get(authority)
    if (known !== undefined) return known
    const parsed = parseAuthority(authority)
    if (parsed === null) return 'BAD_HOST'
    const destination = { host: parsed.host, port: parsed.port ?? portDefault, unixPath: null }
    if (allowHosts !== null && !isAllowedHost(allowHosts, destination, portDefault)) return 'ADDRESS_REFUSED'
    const options = endpointOptions({ host: parsed.host, hasTls: false }, backend.transport, base)
    const endpoint = upstream.endpoint(destination, options)
    const server = { host: comparedHost(parsed.host), hasTls: options.tls !== null }
    const found = { endpoint, send: senderOf(server) }
    endpoints.set(authority, found)
    return found
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
      const found = find(ex.authority)
      if (typeof found === 'string') {
        fail(ex, found)
        return
      }
      const { endpoint, send } = found
      // By default the client's own spelling passes: it names the destination already.
      if (isAuto && ex.upstreamHost === null) ex.upstreamHost = endpoint.hostHeader
      ex.request.append('Via', VIA)
      send(ex, endpoint)
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
