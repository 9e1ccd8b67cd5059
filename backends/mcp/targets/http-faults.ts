/** What goes wrong between the gateway and a server, in the words of a link. */
import { INVALID_REQUEST, type RpcResponse } from '#backends/mcp/rpc.ts'
import type { LinkFailure } from '#backends/mcp/target.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

/** The server wants a token, or a better one (RFC 9110 section 11.6.1; RFC 6750 section 3). Null: it does not. */
export function challengeOf(status: number, headers: HeaderBlock): LinkFailure | null {
  if (status !== 401 && status !== 403) return null
  const challenge = headers.getAll('www-authenticate')
  return challenge === undefined ? null : { ...refusal(status, false), challenge }
}

/** What a status other than success says. */
export function refusal(status: number, hasSession: boolean): LinkFailure {
  if (status === 404 && hasSession) return { kind: 'expired', status, message: 'the session is not known any more' }
  const isRedirect = status >= 300 && status < 400
  const message = isRedirect ? 'answered with a redirect, which is not followed' : `answered with status ${status}`
  return { kind: 'refused', status, message }
}

const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  ...(['CONNECT_FAILURE', 'DNS_FAILURE', 'UPSTREAM_TLS', 'UPSTREAM_OVERFLOW'] as const),
  ...(['NO_BACKEND', 'ADDRESS_REFUSED', 'DRAINING'] as const)
])
const LATE: ReadonlySet<ErrorCode> = new Set(['UPSTREAM_TIMEOUT', 'CONNECT_TIMEOUT', 'REQUEST_TIMEOUT'])

export function faultOf(code: ErrorCode): LinkFailure {
  const kind = LATE.has(code) ? 'timeout' : UNREACHABLE.has(code) ? 'unreachable' : 'broken'
  return { kind, status: null, message: ERRORS[code].message }
}

/** Some servers answer 400 where MCP says 404: the reference examples do, with this code and these words. */
export function saysExpired(status: number, response: RpcResponse): boolean {
  if (status !== 400 || !('error' in response)) return false
  const { code, message } = response.error
  return (code === -32000 || code === -32001 || code === INVALID_REQUEST) && /\bsession\b/i.test(message)
}

export const TOO_LARGE: LinkFailure = {
  kind: 'tooLarge',
  status: null,
  message: 'the message is longer than the limit'
}

export const broken = (message: string): LinkFailure => ({ kind: 'broken', status: null, message })
