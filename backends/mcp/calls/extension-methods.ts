/**
 * Methods that no revision has: those of extensions (2026-07-28, basic/versioning, Extension Negotiation). Nothing
 * tells the extension of a method, so several targets that have extensions are tried one after the other: one that
 * answers "method not found" has done nothing. Targets whose rules exclude the caller are not tried: the gateway's own
 * credentials would let it in (`mcp.method`, authorization/rules.ts).
 */

import { messageForClient } from '#backends/mcp/names/messages.ts'
import { resultForClient } from '#backends/mcp/names/names.ts'
import { mayExtend } from '#backends/mcp/protocol/capabilities.ts'
import {
  errorResponse,
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  type RpcErrorResponse,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { failureText } from '#backends/mcp/services.ts'
import type { LinkEvents, Target } from '#backends/mcp/targets/target.ts'
import { type Call, requestTo, trackRunning } from './call.ts'
import { sendRequest } from './target-request.ts'
export function callExtension(call: Call): void {
  const { services, reply, session, message } = call
  const { names, listChanges } = services
  const able = services.targets.all.filter(
    ({ name }) => mayExtend(session.capabilitiesOf(name)) && services.mayReceive(reply.ex, name, message)
  )
  // What a target has declared to other clients is a guess about this one: it only decides the order.
  const isLikely = ({ capabilities = null }: Target): boolean => mayExtend(capabilities)
  const targets = [...able.filter(isLikely), ...able.filter((target) => !isLikely(target))]
  const finish = trackRunning(call, [...names.targets])
  let stop = (): void => undefined
  reply.onGone = () => {
    finish()
    stop()
  }
  const end = (response: RpcResponse): void => {
    finish()
    reply.respond(response)
  }
  const tryNext = (): void => {
    const target = targets.shift()
    if (target === undefined) end(unknownMethod(message))
    else stop = sendRequest(requestTo(call, target, 0), message, eventsOf(target))
  }
  const eventsOf = (target: Target): LinkEvents => ({
    message: (serverMessage) => reply.message(messageForClient(names, target.name, serverMessage), null),
    answered: (response) => {
      listChanges.onCallEnd(session, target.name, message.method)
      const isUnknown = 'error' in response && (response.error.code === METHOD_NOT_FOUND || !isLikely(target))
      if (isUnknown) tryNext()
      else if ('error' in response) end(response)
      else end({ ...response, result: resultForClient(names, target.name, response.result) })
    },
    failed: (failure) => {
      finish()
      reply.error(message.id, INTERNAL_ERROR, failureText(target.name, failure))
    }
  })
  tryNext()
}

/** The same for a method that rules hide and for one that no server has. */
export const unknownMethod = ({ id }: RpcRequest): RpcErrorResponse =>
  errorResponse(id, METHOD_NOT_FOUND, 'Method not found')
