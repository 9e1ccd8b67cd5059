/**
 * Requests of the stateless era (2026-07-28): each is whole by itself. Lists, calls and names are those of sessions;
 * the links of such a request speak this era, to servers of either (docs/design/021-mcp-eras.md).
 */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { refusalOf } from '#backends/mcp/protocol/headers.ts'
import { METHOD_NOT_FOUND, type RpcNotification, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION } from '#backends/mcp/protocol/stateless.ts'
import type { Services } from '#backends/mcp/services.ts'
import type { StatelessSessions } from '#backends/mcp/session/stateless-sessions.ts'
import { newCall } from './call.ts'
import { discover } from './discover.ts'
import { dispatch } from './dispatch.ts'
import { subscribe } from './subscribe.ts'
export function serveStateless(
  services: Services,
  sessions: StatelessSessions,
  reply: Reply,
  message: RpcRequest | RpcNotification,
  bytes: Buffer
): void {
  const { ex } = reply
  if (!('id' in message)) {
    // None are defined over HTTP (transports, Sending Messages).
    reply.plain(202, null)
    return
  }
  const refusal = refusalOf(ex.request, message)
  if (refusal !== null) {
    const { code, message: text, data } = refusal.error
    if (ex.mcp !== null) ex.mcp.errorCode = code
    reply.refuse(refusal.status, code, text, data === undefined ? { id: message.id } : { id: message.id, data })
    return
  }
  reply.statusOf = statusOf
  const session = sessions.of(services, ex, message)
  if (ex.mcp !== null) ex.mcp.protocolVersion = STATELESS
  const call = newCall(services, reply, session, message, bytes)
  if (message.method === 'server/discover') discover(call)
  else if (message.method === 'subscriptions/listen') subscribe(call)
  else dispatch(call)
}

/** Status of protocol errors: the three that MCP defines, and unknown methods (transports). */
function statusOf(code: number): number {
  if (code === METHOD_NOT_FOUND) return 404
  return code === HEADER_MISMATCH || code === MISSING_CLIENT_CAPABILITY || code === UNSUPPORTED_VERSION ? 400 : 200
}
