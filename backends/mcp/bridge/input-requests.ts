/**
 * Requests of a server to its client, in both eras: a message of its own (stateful), or a member of `inputRequests`
 * that a retry answers (2026-07-28, basic/patterns/mrtr).
 */

import type { JsonObject, JsonValue, RpcFault, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/stateless.ts'

/** Requests of one interim result: a server that wants more at once is not served. */
export const INPUTS_MAX = 32

const CAPABILITY: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots'
}

/** Whether a client that declared these capabilities takes this request. */
export function takesInput(
  capabilities: JsonObject,
  request: { readonly method: string; readonly params?: JsonObject }
) {
  const name = CAPABILITY[request.method]
  const declared = name === undefined ? undefined : capabilities[name]
  if (!isObject(declared)) return false
  if (name !== 'elicitation') return true
  // A client that names no mode takes forms (client/elicitation, Capabilities).
  if (request.params?.mode === 'url') return isObject(declared.url)
  return isObject(declared.form) || !isObject(declared.url)
}

/** Whether a server may ask such a client anything at all. */
export function takesAnyInput(capabilities: JsonObject): boolean {
  return Object.values(CAPABILITY).some((name) => isObject(capabilities[name]))
}

/** A stateful server's request -> a member of `inputRequests`. Ids of URL elicitations are of that era only. */
export function inputRequest(request: RpcRequest): JsonObject {
  const { _meta, task, elicitationId, ...params } = request.params ?? {}
  if (request.method === 'roots/list') return { method: request.method }
  return { method: request.method, params }
}

/** A member of `inputRequests` -> the request that a stateful client gets; null: no such request exists. */
export function requestOf(input: JsonValue | undefined, id: string): RpcRequest | null {
  if (!isObject(input)) return null
  const { method } = input
  if (typeof method !== 'string' || CAPABILITY[method] === undefined) return null
  const params = isObject(input.params) ? input.params : undefined
  if (method === 'elicitation/create' && params?.mode === 'url')
    return { jsonrpc: '2.0', id, method, params: { ...params, elicitationId: id } }
  return params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params }
}

/**
 * What a stateful client answered -> a member of `inputResponses`, which has no place for errors; a fault: the call
 * cannot go on, and why. A client that fails to ask its user has cancelled the asking.
 */
export function inputResponse(method: string, response: RpcResponse): JsonObject | RpcFault['error'] {
  if ('result' in response) return response.result
  if (method === 'elicitation/create') return { action: 'cancel' }
  return { code: -32603, message: `The client refused ${method}: ${response.error.message.slice(0, 200)}` }
}

/** The retry's answers for a stateful server: only what has the shape of a result. */
export function answersOf(params: JsonObject | undefined): JsonObject {
  const responses = params?.inputResponses
  return isObject(responses) ? responses : {}
}
