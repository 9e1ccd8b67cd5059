import type { BackendContext } from '#engine/contract/backend.ts'
import type { Endpoint, EndpointOptions, HostGroup } from '#engine/contract/endpoint.ts'
import { type BackendTransport, endpointOptions } from './transport.ts'

/** A server whose address stands in the configuration. */
export interface ConfiguredServer {
  /** '' for a unix socket. */
  readonly host: string
  /** Null: that of the scheme. */
  readonly port: number | null
  /** Absent: there is none. */
  readonly unixPath?: string | null
  /** Several servers in its place; absent: there is one. */
  readonly group?: HostGroup
  /** Its scheme or its kind says so, besides what a policy says. */
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** Of the workload of a mesh that is there (Destination); absent: it is of none. */
  readonly identity?: string | undefined
}

/** Its endpoint. The address comes from the configuration, so it needs no address guard. */
export function configuredEndpoint(
  { host, port, unixPath = null, group, hasTls, transport, identity }: ConfiguredServer,
  { upstream, connectTimeoutMs }: Pick<BackendContext, 'upstream' | 'connectTimeoutMs'>,
  spoken: Pick<EndpointOptions, 'http' | 'proxyProtocol'> = {}
): Endpoint {
  const base = { guarded: false, allow: [], connectTimeoutMs, ...spoken }
  const workload = identity === undefined ? {} : { identity }
  const destination = group ?? { host, port: port ?? (hasTls ? 443 : 80), unixPath, ...workload }
  // Without a name in TLS each server of several is asked for its own.
  const named = group === undefined ? host : ''
  return upstream.endpoint(destination, endpointOptions({ host: named, hasTls }, transport, base))
}
