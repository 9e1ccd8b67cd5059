/** Which version of HTTP an exchange is sent by: docs/specification.md#backend-connections, and what is possible. */
import type { SpokenHttp } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isGrpc } from '#engine/http/grpc.ts'

export const HTTP1 = 1
export const HTTP2 = 2
/** HTTP/2 if the server speaks it (its TLS agrees, or it answers the preface), else HTTP/1.1. */
export const EITHER = 3
/** Code of a connection to a server that speaks something else. */
export const NOT_HTTP2 = 'NOT_HTTP2'
export type Version = typeof HTTP1 | typeof HTTP2 | typeof EITHER

/** A version, or why there is none. */
export function versionFor(ex: Exchange, rule: SpokenHttp['version']): Version | ErrorCode {
  const { client } = ex
  if (isGrpc(ex.method, ex.request)) {
    if (client.httpVersion !== '2') return 'GRPC_OVER_HTTP1'
    return rule === 'HTTP1' ? 'GRPC_TO_HTTP1' : HTTP2
  }
  if (ex.upgrade !== null) return rule === 'HTTP2' ? 'UPGRADE_OVER_HTTP2' : HTTP1
  if (rule !== 'auto') return rule === 'HTTP1' ? HTTP1 : HTTP2
  // As received, if that was in clear text. Nothing is sent before the server has shown what it speaks.
  if (client.httpVersion !== '2' || (client.tls ?? null) !== null) return HTTP1
  return EITHER
}

/** What is offered to a server's TLS for HTTP/2, the preferred first. What must be HTTP/2 gets no other choice. */
export function alpnOf(rule: SpokenHttp['version']): readonly string[] {
  return rule === 'HTTP2' ? ['h2'] : ['h2', 'http/1.1']
}
