/**
 * Methods that no revision has: of extensions (2026-07-28, basic/versioning, Extension Negotiation). Nothing says which
 * extension a method is of, so of several targets those that have any are asked, one after the other: who answers that
 * it does not know the method has done nothing. Where rules shut the caller out of a target, it is not asked: the
 * gateway's own key would open it (`mcp.method`, rules.ts).
 */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import { outward } from '#backends/mcp/names/names.ts'
import { mayExtend } from '#backends/mcp/protocol/capabilities.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND, type RpcRequest, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import { under } from './forward.ts'
import { ask } from './target-request.ts'

export function extend(core: Core, reply: Reply, session: Session, message: RpcRequest): void {
  const able = core.peers.all.filter(
    ({ name }) => mayExtend(session.declared(name)) && core.mayTell(reply.ex, name, message)
  )
  // What a target has told other clients is a guess about this one: it is asked later.
  const isLikely = ({ declared = null }: Target): boolean => mayExtend(declared)
  const targets = [...able.filter(isLikely), ...able.filter((target) => !isLikely(target))]
  const finish = under(session, message.id, [...core.names.targets])
  const headers = core.peers.headersOf(reply.ex)
  let stop = (): void => undefined
  reply.onGone = () => {
    finish()
    stop()
  }
  const end = (response: RpcResponse): void => {
    finish()
    reply.respond(response)
  }
  const next = (): void => {
    const target = targets.shift()
    if (target === undefined) end(unknownMethod(message))
    else stop = ask(core.asking(session, target, headers, 0), message, eventsOf(target))
  }
  const eventsOf = (target: Target): Parameters<typeof ask>[2] => ({
    message: (given) => reply.message(outwardMessage(core.names, target.name, given), null),
    answered: (response) => {
      core.news.called(session, target.name, message.method)
      const isNone = 'error' in response && (response.error.code === METHOD_NOT_FOUND || !isLikely(target))
      if (isNone) next()
      else if ('error' in response) end(response)
      else end({ ...response, result: outward(core.names, target.name, response.result) })
    },
    failed: (failure) => {
      finish()
      reply.error(message.id, INTERNAL_ERROR, failureText(target.name, failure))
    }
  })
  next()
}

/** To callers what is hidden is what no server has. */
export const unknownMethod = ({ id }: RpcRequest): RpcResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code: METHOD_NOT_FOUND, message: 'Method not found' }
})
