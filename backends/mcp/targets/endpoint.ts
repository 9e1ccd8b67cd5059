/** The endpoint of a target. Its address comes from the configuration, so it needs no address guard. */

import type { BackendContext } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { McpHttpTarget } from './remote.ts'
export function targetEndpoint(
  { host, port, hasTls, transport }: Pick<McpHttpTarget, 'host' | 'port' | 'hasTls' | 'transport'>,
  { upstream, connectTimeoutMs }: BackendContext
): Endpoint {
  const base = { guarded: false, allow: [], connectTimeoutMs }
  return upstream.endpoint({ host, port, unixPath: null }, endpointOptions({ host, hasTls }, transport, base))
}

/** Path and query of a request target; the query with its question mark, or ''. */
export function splitPath(target: string): [path: string, query: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
}
