/**
 * Servers that authenticate the clients themselves: clients send their tokens through the gateway to its only target
 * (forwardHeaders: authorization), and must get that server's challenges (MCP 2025-11-25, authorization).
 */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import type { RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import type { Services } from '#backends/mcp/services.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'

const REFUSED = -32_000

/** Replies as the server did, if `failure` is its challenge and the client may see it. False: it has not replied. */
export function passChallenge(
  { passesChallenges }: Services,
  reply: Reply,
  id: RpcId | null,
  { status, challenge }: LinkFailure
): boolean {
  if (!passesChallenges || challenge === undefined || status === null || reply.isStream) return false
  const message = status === 401 ? 'Unauthorized' : 'Forbidden'
  reply.refuse(status, REFUSED, message, { id, headers: ['WWW-Authenticate', challenge] })
  return true
}
