/** What clients send without waiting for an answer: notifications, and responses to requests of servers. */
import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type RpcId,
  type RpcNotification,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isId } from '#backends/mcp/protocol/read-message.ts'
import { STATEFUL_NOTICES } from '#backends/mcp/protocol/stateful.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'

interface Parcel {
  readonly targets: readonly string[]
  readonly message: RpcNotification | RpcResponse
}

/** Passes the message on to those whom it concerns, and answers 202 when they have it. */
export function tell(core: Core, reply: Reply, session: Session, message: RpcNotification | RpcResponse): void {
  // Whom it could concern is gone with the request that began it.
  if (core.isStateless) {
    reply.plain(202, null)
    return
  }
  const parcel = 'method' in message ? ofNotification(core, reply, session, message) : ofResponse(core, message)
  if (parcel === null) {
    reply.refuse(400, INVALID_REQUEST, 'Bad Request: no server has asked with this id')
    return
  }
  const headers = core.peers.headersOf(reply.ex)
  const sent = parcel.targets
    .filter((name) => session.seats.has(name) && core.names.targets.has(name))
    .map(async (name) => ({
      name,
      failure: await core.peers.link(session, core.peers.get(name), headers).send(parcel.message)
    }))
  void Promise.all(sent).then((outcomes) => {
    const failed = outcomes.filter(({ failure }) => failure !== null && !isHarmless(failure))
    if (failed.length === 0 || failed.length < outcomes.length) reply.plain(202, null)
    else if (!passChallenge(core, reply, null, failed[0]!.failure!))
      reply.refuse(502, INTERNAL_ERROR, failureText(failed[0]!.name, failed[0]!.failure!))
  })
}

/** An expired session is mended by the next request; what was told of it concerned the old one. */
const isHarmless = ({ kind }: LinkFailure): boolean => kind === 'expired'

function ofResponse({ names }: Core, message: RpcResponse): Parcel | null {
  const owner = message.id === null ? null : names.ownerOfId(message.id)
  return owner === null ? null : { targets: [owner.target], message: { ...message, id: owner.id } }
}

function ofNotification(core: Core, { ex }: Reply, session: Session, message: RpcNotification): Parcel {
  const { names } = core
  const isKnown = STATEFUL_NOTICES.has(message.method)
  const everyone = [...names.targets].filter((name) => isKnown || core.mayTell(ex, name, message))
  const { method, params = {} } = message
  if (method === 'notifications/cancelled' && isId(params.requestId)) {
    // It may run in another worker: those who do not know the id pay no attention to it (2025-11-25, cancellation).
    return { targets: session.running.get(params.requestId) ?? everyone, message }
  }
  if (method === 'notifications/progress' && isId(params.progressToken) && names.isTagged)
    return ofProgress(names.ownerOfId(params.progressToken), message)
  return { targets: everyone, message }
}

/** Of a request of a server, under the token that the client was given for it. */
function ofProgress(owner: { readonly target: string; readonly id: RpcId } | null, message: RpcNotification): Parcel {
  if (owner === null) return { targets: [], message }
  return {
    targets: [owner.target],
    message: { ...message, params: { ...message.params, progressToken: owner.id } }
  }
}
