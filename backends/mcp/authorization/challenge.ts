/**
 * Servers that know their users by themselves: the client shows its token to the one server behind the gateway
 * (forwardHeaders: authorization), and must hear when that one wants another (MCP 2025-11-25, authorization).
 */

import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import type { RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'

const REFUSED = -32_000

/** Of several servers no two need the same token, and a server with a key of the gateway has nothing of its clients. */
export function passesTokens({ targets, forwardHeaders }: McpBackend): boolean {
  const [only] = targets
  return (
    targets.length === 1 && only!.kind === 'http' && only!.auth === null && forwardHeaders.includes('authorization')
  )
}

/** Answers as the server did, if that is what `failure` is about. False: it is another one, or not for the client. */
export function passChallenge(
  { hasTokens }: { readonly hasTokens: boolean },
  reply: Reply,
  id: RpcId | null,
  { status, challenge }: LinkFailure
): boolean {
  if (!hasTokens || challenge === undefined || status === null || reply.isStream) return false
  const message = status === 401 ? 'Unauthorized' : 'Forbidden'
  reply.refuse(status, REFUSED, message, { id, headers: ['WWW-Authenticate', challenge] })
  return true
}
