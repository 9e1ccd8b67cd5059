/** Forwards one call to one target, and everything that comes back. */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { messageForClient } from '#backends/mcp/names/messages.ts'
import { mayContainNames, resultForClient } from '#backends/mcp/names/names.ts'
import { INTERNAL_ERROR, type JsonObject, type RpcRequest, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, parseMessage } from '#backends/mcp/protocol/parse-message.ts'
import type { LinkEvents, Target } from '#backends/mcp/targets/target.ts'
import { type Call, replyFailure, requestTo, trackRunning } from './call.ts'
import { StreamRelay } from './stream-relay.ts'
import { sendRequest } from './target-request.ts'

/** Responses longer than this are not parsed for the log. */
const RECORDED_BYTES_MAX = 4 * 1024
const TOOL_ERROR = '"isError":true'

export interface Forwarding {
  readonly target: Target
  /** For the target. */
  readonly message: RpcRequest
  /** The client's own bytes, if the target may get them. */
  readonly json?: Buffer
  /** Changes the result; null: the result goes to the client as it is. */
  readonly edit: ((result: JsonObject) => JsonObject) | null
  readonly timeoutMs: number
}

export function forward(call: Call, forwarding: Forwarding): void {
  const { services, reply, session } = call
  const { target, message, json, edit, timeoutMs } = forwarding
  const { names, listChanges } = services
  if (reply.ex.mcp !== null) reply.ex.mcp.target = target.name
  const untrack = trackRunning(call, [target.name])
  const finish = (): void => {
    untrack()
    listChanges.onCallEnd(session, target.name, message.method)
  }
  const respond = (response: RpcResponse, eventId: string | null): void =>
    reply.respond(forClient(call, forwarding, response), eventId)
  const stream = new StreamRelay(reply, session, names.isMultiplexed ? target.name : null, finish)
  const events: LinkEvents = {
    message: (serverMessage, eventId) =>
      reply.message(messageForClient(names, target.name, serverMessage), stream.idOf(eventId)),
    answered: (response, eventId) => {
      finish()
      respond(response, stream.idOf(eventId))
    },
    failed: (failure) => {
      finish()
      replyFailure(call, target.name, failure)
    },
    stream
  }
  if (edit === null) {
    events.answeredBytes = (bytes, eventId) => {
      finish()
      recordResponse(reply, bytes)
      if (!names.isMultiplexed || !mayContainNames(bytes)) {
        reply.respondBytes(bytes, 200, stream.idOf(eventId))
        return
      }
      const response = parseMessage(bytes)
      if (isInvalid(response) || 'method' in response)
        reply.error(message.id, INTERNAL_ERROR, 'the target answered with what is no response')
      else respond(response, stream.idOf(eventId))
    }
  }
  const request = requestTo(call, target, timeoutMs)
  const stop = sendRequest(request, message, events, json)
  reply.onGone = () => {
    finish()
    stop()
  }
  // Closing a connection cancels nothing (2025-11-25, transports). Servers ignore what they have cancelled already.
  reply.onLate = () => {
    const params = { requestId: message.id, reason: 'no answer in time' }
    const link = services.targets.link(session, target, request.headers)
    void link.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }
}

/** The response under the names that clients know. */
function forClient({ services }: Call, { target, edit }: Forwarding, response: RpcResponse): RpcResponse {
  if (!('result' in response)) return response
  const result = edit === null ? response.result : edit(response.result)
  return { ...response, result: resultForClient(services.names, target.name, result) }
}

/** What the log needs of a response that is not parsed. */
function recordResponse({ ex: { mcp } }: Reply, bytes: Buffer): void {
  if (mcp === null || mcp.method !== 'tools/call') return
  if (bytes.includes(TOOL_ERROR)) mcp.hasToolError = true
  if (bytes.length > RECORDED_BYTES_MAX || !bytes.includes('"error"')) return
  const message = parseMessage(bytes)
  if (!isInvalid(message) && 'error' in message) mcp.errorCode = message.error.code
}
