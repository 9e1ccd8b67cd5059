/**
 * Requests of a server to its client, in both eras: a message of its own (stateful), or a member of `inputRequests`
 * that a retry answers (2026-07-28, basic/patterns/mrtr).
 */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorResponse,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
/** Requests of one interim result; more are refused. */
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

/** Whether such a client takes any request of a server. */
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
 * A stateful client's response -> a member of `inputResponses`, which has no place for errors. An error: why the call
 * cannot go on. A client that fails to elicit from its user has cancelled the elicitation.
 */
export function inputResponse(method: string, response: RpcResponse): JsonObject | RpcErrorResponse['error'] {
  if ('result' in response) return response.result
  if (method === 'elicitation/create') return { action: 'cancel' }
  return { code: -32603, message: `The client refused ${method}: ${response.error.message.slice(0, 200)}` }
}

/** The input responses of a retry. */
export function answersOf(params: JsonObject | undefined): JsonObject {
  const responses = params?.inputResponses
  return isObject(responses) ? responses : {}
}
