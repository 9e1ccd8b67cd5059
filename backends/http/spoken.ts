/** How servers are spoken to: what the policies `http` and `tcp` say of a backend, and what holds without them. */

import type { BackendHttp } from '#backends/http/config/snapshot.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { type EndpointOptions, SPOKEN_DEFAULT, type SpokenHttp } from '#engine/contract/endpoint.ts'

export function spokenHttp(http: BackendHttp | undefined): SpokenHttp {
  if (http === undefined) return SPOKEN_DEFAULT
  return { version: http.version ?? 'auto', requestTimeoutMs: http.requestTimeoutMs }
}

export function proxyProtocol(transport: BackendTransport | undefined): Pick<EndpointOptions, 'proxyProtocol'> {
  const version = transport?.tcp?.proxyProtocol ?? null
  return version === null ? {} : { proxyProtocol: version }
}
