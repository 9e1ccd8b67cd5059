/** The id of a request on its way: to backends and back to clients, where the configuration asks for it. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import { type RequestIdRules, requestIdOf } from '#engine/contract/request-id.ts'
import { type Hooks, joined } from './policies.ts'

/** The hooks of a listener: the id is set ahead of all policies, and on the answer behind them. No rules: as given. */
export function withRequestId(hooks: Hooks, rules: RequestIdRules | undefined): Hooks {
  if (rules === undefined) return hooks
  const { header, sendToBackend, sendToClient } = rules
  const toBackend: Hook = (ex: Exchange) => {
    const id = requestIdOf(ex)
    // As a rule it is the client's own, in its place.
    if (ex.request.get(header) !== id) ex.request.set(header, id)
    return CONTINUE
  }
  const toClient: Hook = (ex: Exchange) => {
    if (ex.response !== null) ex.response.set(header, requestIdOf(ex))
    return CONTINUE
  }
  const owner = [{ name: 'requestId' }]
  const { request, response } = hooks.hookOwners
  return {
    hookOwners: {
      request: sendToBackend ? [...owner, ...request] : request,
      response: sendToClient ? [...response, ...owner] : response
    },
    requestHooks: sendToBackend ? joined([toBackend], hooks.requestHooks) : hooks.requestHooks,
    responseHooks: sendToClient ? joined(hooks.responseHooks, [toClient]) : hooks.responseHooks
  }
}
