/** A fixed destination: host and port, or a unix socket. */

import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import { showInChecks } from '#backends/shared/auth/check-credentials.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { HostGroup, WeightedHost } from '#engine/contract/endpoint.ts'
import { senderFor } from './authenticated.ts'
import { staticConfig } from './config/plain.ts'
import { proxyProtocol, spokenHttp } from './spoken.ts'

// --- build time ---

function compile(backend: StaticBackend, context: BackendContext): CompiledBackend {
  const { name, upstream } = context
  const { host, port, unixPath, hosts, transport } = backend
  const server = { host, hasTls: (transport?.tls ?? null) !== null }
  const send = senderFor(backend.auth, server, context)
  const spoken = { http: spokenHttp(backend.http), ...proxyProtocol(transport) }
  const group = hosts === undefined ? {} : { group: groupOf(name, hosts) }
  const endpoint = configuredEndpoint({ host, port, unixPath, ...group, hasTls: false, transport }, context, spoken)
  showInChecks(endpoint, { ...server, auth: backend.auth, transport }, context)
  const auto = context.hostRewrite === 'auto' || (context.hostRewrite === 'default' && endpoint.isHostname)
  // A unix socket has no host to send; whatever the client asked for passes.
  const rewritten = auto && (hosts !== undefined || endpoint.hostHeader !== '') ? endpoint.hostHeader : null
  return {
    ...(hosts === undefined ? {} : { background: { begin: () => upstream.setHosts(endpoint, hosts), end() {} } }),
    // --- request time ---
    isUsable: () => endpoint.usable,
    serve: (ex) => {
      ex.backend = name
      ex.backendType = staticBackend
      // A policy that named the host has decided (docs/specification.md#host-rewrite).
      if (ex.upstreamHost === null) ex.upstreamHost = rewritten
      // Also when the endpoint is ejected: with no other choice, trying beats refusing.
      send(ex, endpoint)
    }
  }
}

/** Backends without a name of their own are known by their place, where another one may stand tomorrow. */
function groupOf(name: string, hosts: readonly WeightedHost[]): HostGroup {
  return {
    name: name.includes('/') ? hosts.map((one) => one.unixPath ?? `${one.host}:${one.port}`).join() : name,
    hosts
  }
}

export const staticBackend: BackendKind = {
  kind: 'static',
  protocol: 'http',
  config: staticConfig,
  stream: ({ host, port, unixPath, hosts, transport }: StaticBackend) => ({
    to: hosts === undefined ? { host, port, unixPath } : groupOf('/', hosts),
    guarded: false,
    allow: [],
    transport
  }),
  compile
}
