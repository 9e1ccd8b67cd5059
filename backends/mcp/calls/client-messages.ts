/** What clients send without expecting a response: notifications, and responses to requests of servers. */

import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isId,
  type RpcId,
  type RpcNotification,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { STATEFUL_NOTIFICATIONS } from '#backends/mcp/protocol/stateful.ts'
import { failureText, type Services } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { traceAnswer } from './traced-messages.ts'
import { notifyTraced } from './traced-request.ts'

/** The message, under the names that its targets know. */
interface Delivery {
  readonly targets: readonly string[]
  readonly message: RpcNotification | RpcResponse
}

/** Sends the message to the targets that it concerns, and replies 202 when they have it. */
export function deliver(
  services: Services,
  reply: Reply,
  session: Session,
  message: RpcNotification | RpcResponse
): void {
  // The session that it could concern ended with its one request.
  if (services.isStateless) {
    reply.plain(202, null)
    return
  }
  const delivery =
    'method' in message ? ofNotification(services, reply, session, message) : ofResponse(services, session, message)
  if (delivery === null) {
    reply.refuse(400, INVALID_REQUEST, 'Bad Request: no server has asked with this id')
    return
  }
  const headers = services.forwardedHeaders(reply.ex)
  const trace = TRACE.get(reply.ex)
  const send = (name: string, fields: HeaderBlock, one: RpcNotification | RpcResponse) =>
    services.targets.link(session, services.targets.get(name), fields).send(one)
  const sendTo = (target: string) => {
    const { message: own } = delivery
    return trace === null || !('method' in own)
      ? send(target, headers, own)
      : notifyTraced(trace, { ex: reply.ex, target, headers }, own, (fields, one) => send(target, fields, one))
  }
  const sent = delivery.targets
    .filter((name) => session.targetSessions.has(name) && services.names.targets.has(name))
    .map(async (name) => ({ name, failure: await sendTo(name) }))
  void Promise.all(sent).then((outcomes) => {
    const failed = outcomes.filter(({ failure }) => failure !== null && !isHarmless(failure))
    if (failed.length === 0 || failed.length < outcomes.length) reply.plain(202, null)
    else if (!passChallenge(services, reply, null, failed[0]!.failure!))
      reply.refuse(502, INTERNAL_ERROR, failureText(failed[0]!.name, failed[0]!.failure!))
  })
}

/** The message concerned a session that has expired; the next request restores it. */
const isHarmless = ({ kind }: LinkFailure): boolean => kind === 'expired'

function ofResponse({ names }: Services, session: Session, message: RpcResponse): Delivery | null {
  const owner = message.id === null ? null : names.ownerOfId(message.id)
  if (owner === null) return null
  const response = { ...message, id: owner.id }
  traceAnswer(session, owner.target, response)
  return { targets: [owner.target], message: response }
}

function ofNotification(services: Services, { ex }: Reply, session: Session, message: RpcNotification): Delivery {
  const { names } = services
  const isKnown = STATEFUL_NOTIFICATIONS.has(message.method)
  const everyone = [...names.targets].filter((name) => isKnown || services.mayReceive(ex, name, message))
  const { method, params = {} } = message
  if (method === 'notifications/cancelled' && isId(params.requestId)) {
    // It may run in another worker: targets ignore ids that they do not know (2025-11-25, cancellation).
    return { targets: session.running.get(params.requestId) ?? everyone, message }
  }
  if (method === 'notifications/progress' && isId(params.progressToken) && names.isMultiplexed)
    return ofProgress(names.ownerOfId(params.progressToken), message)
  return { targets: everyone, message }
}

/** Progress of a server's request, by the token that the client got. */
function ofProgress(owner: { readonly target: string; readonly id: RpcId } | null, message: RpcNotification): Delivery {
  if (owner === null) return { targets: [], message }
  return {
    targets: [owner.target],
    message: { ...message, params: { ...message.params, progressToken: owner.id } }
  }
}
