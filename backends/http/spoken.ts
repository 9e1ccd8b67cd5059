/** How servers are spoken to: what the policies `http` and `tcp` say of a backend, and what holds without them. */

import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { type EndpointOptions, SPOKEN_DEFAULT, type SpokenHttp } from '#engine/contract/endpoint.ts'
import type { BackendHttp } from '#engine/ir/backend-http.ts'

export function spokenHttp(http: BackendHttp | undefined): SpokenHttp {
  if (http === undefined) return SPOKEN_DEFAULT
  return { version: http.version ?? 'auto', requestTimeoutMs: http.requestTimeoutMs }
}

export function proxyProtocol(transport: BackendTransport | undefined): Pick<EndpointOptions, 'proxyProtocol'> {
  const version = transport?.tcp?.proxyProtocol ?? null
  return version === null ? {} : { proxyProtocol: version }
}
