/** Messages that servers send on their own, with the names that clients know. */

import { isId, type RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { withProgressToken } from '#backends/mcp/protocol/progress-token.ts'
import { type Names, resultForClient } from './names.ts'
/** A notification or a request of a server, or a response on a stream that goes on. */
export function messageForClient(names: Names, target: string, message: RpcMessage): RpcMessage {
  if (!names.isMultiplexed) return message
  if (!('method' in message)) {
    return 'result' in message ? { ...message, result: resultForClient(names, target, message.result) } : message
  }
  const params = message.params === undefined ? undefined : resultForClient(names, target, message.params)
  if ('id' in message) {
    const renamed = { ...message, id: names.id(target, message.id) }
    return params === undefined
      ? renamed
      : { ...renamed, params: withProgressToken(params, (token) => names.id(target, token)) }
  }
  if (params === undefined) return message
  // The server cancels its own request, which the client knows under another id.
  if (message.method === 'notifications/cancelled' && isId(params.requestId))
    return { ...message, params: { ...params, requestId: names.id(target, params.requestId) } }
  return { ...message, params }
}
