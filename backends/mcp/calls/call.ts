/** One request of a client, and where its response goes. */

import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { INTERNAL_ERROR, type JsonObject, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { failureText, type Services } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import type { TargetRequest } from './target-request.ts'

/** JSON-RPC code of the SDKs for a session that is not known. */
const SESSION_UNKNOWN = -32_001

export interface Call {
  readonly services: Services
  readonly reply: Reply
  readonly session: Session
  readonly message: RpcRequest
  readonly params: JsonObject
  /** The message as the client sent it. */
  readonly bytes: Buffer
}

export function newCall(services: Services, reply: Reply, session: Session, message: RpcRequest, bytes: Buffer): Call {
  return { services, reply, session, message, params: message.params ?? {}, bytes }
}

/** A request to `target` on behalf of the call. */
export function requestTo({ services, reply, session }: Call, target: Target, timeoutMs: number): TargetRequest {
  return { ex: reply.ex, services, session, target, headers: services.forwardedHeaders(reply.ex), timeoutMs }
}

/** Records where the call runs, for its cancellation. Returns what to call when it is over, once or more often. */
export function trackRunning({ session: { running }, message: { id } }: Call, targets: readonly string[]): () => void {
  running.set(id, targets)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    if (running.get(id) === targets) running.delete(id)
  }
}

/** The target did not respond. */
export function replyFailure(
  { services, reply, session, message: { id } }: Call,
  target: string,
  failure: LinkFailure
) {
  // One of several targets that refuses even a new session must not end what the client has with the others.
  if (failure.kind === 'expired' && !services.isStateless && !services.names.isMultiplexed) {
    services.sessions.end(session)
    if (!reply.isStream) {
      reply.refuse(404, SESSION_UNKNOWN, 'Session not found', { id })
      return
    }
  }
  if (passChallenge(services, reply, id, failure)) return
  reply.error(id, INTERNAL_ERROR, failureText(target, failure))
}
