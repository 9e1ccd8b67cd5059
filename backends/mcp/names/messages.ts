/** What servers say on their own, as clients see it. */

import type { JsonObject, RpcId, RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { isId, isObject } from '#backends/mcp/protocol/read-message.ts'
import { type Names, outward } from './names.ts'

/** A notification or a request of a server, or a response on a stream that goes on. */
export function outwardMessage(names: Names, target: string, message: RpcMessage): RpcMessage {
  if (!names.isTagged) return message
  if (!('method' in message)) {
    return 'result' in message ? { ...message, result: outward(names, target, message.result) } : message
  }
  const params = message.params === undefined ? undefined : outward(names, target, message.params)
  if ('id' in message) {
    const told = { ...message, id: names.id(target, message.id) }
    return params === undefined ? told : { ...told, params: withToken(params, (token) => names.id(target, token)) }
  }
  if (params === undefined) return message
  // The server gives up a request of its own, which the client knows by another id.
  if (message.method === 'notifications/cancelled' && isId(params.requestId))
    return { ...message, params: { ...params, requestId: names.id(target, params.requestId) } }
  return { ...message, params }
}

/** `_meta.progressToken` of a request: progress comes back under it. */
export function withToken(params: JsonObject, change: (token: RpcId) => RpcId): JsonObject {
  const { _meta: meta } = params
  if (!isObject(meta) || !isId(meta.progressToken)) return params
  return { ...params, _meta: { ...meta, progressToken: change(meta.progressToken) } }
}
