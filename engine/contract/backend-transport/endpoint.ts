import type { BackendContext } from '#engine/contract/backend.ts'
import type { Endpoint, EndpointOptions } from '#engine/contract/endpoint.ts'
import { type BackendTransport, endpointOptions } from './transport.ts'

/** A server whose address stands in the configuration. */
export interface ConfiguredServer {
  /** '' for a unix socket. */
  readonly host: string
  /** Null: that of the scheme. */
  readonly port: number | null
  /** Absent: there is none. */
  readonly unixPath?: string | null
  /** Its scheme or its kind says so, besides what a policy says. */
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
}

/** Its endpoint. The address comes from the configuration, so it needs no address guard. */
export function configuredEndpoint(
  { host, port, unixPath = null, hasTls, transport }: ConfiguredServer,
  { upstream, connectTimeoutMs }: Pick<BackendContext, 'upstream' | 'connectTimeoutMs'>,
  spoken: Pick<EndpointOptions, 'http' | 'proxyProtocol'> = {}
): Endpoint {
  const base = { guarded: false, allow: [], connectTimeoutMs, ...spoken }
  const destination = { host, port: port ?? (hasTls ? 443 : 80), unixPath }
  return upstream.endpoint(destination, endpointOptions({ host, hasTls }, transport, base))
}
