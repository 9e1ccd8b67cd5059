/** One request of a client to one target, and everything that comes back. */

import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import { maySayPlaces, outward } from '#backends/mcp/names/names.ts'
import {
  INTERNAL_ERROR,
  type JsonObject,
  type RpcId,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isUnreadable, readMessage } from '#backends/mcp/protocol/read-message.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkEvents, LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import { PassedStream } from './stream-relay.ts'
import { ask } from './target-request.ts'

/** JSON-RPC code of the SDKs for a session that is not known. */
const SESSION_UNKNOWN = -32_001
/** Answers longer than this are not looked at for the log. */
const NOTED_BYTES_MAX = 4 * 1024
const TOOL_ERROR = '"isError":true'

export interface Forwarding {
  readonly core: Core
  readonly reply: Reply
  readonly session: Session
  readonly target: Target
  /** As the target gets it. */
  readonly message: RpcRequest
  /** The client's own bytes, where they say the same. */
  readonly json?: Buffer
  /** Changes the result; null: it goes back as it came. */
  readonly edit: ((result: JsonObject) => JsonObject) | null
  readonly timeoutMs: number
}

export function forward(order: Forwarding): void {
  const { core, reply, session, target, message, json, edit, timeoutMs } = order
  const { names } = core
  if (reply.ex.mcp !== null) reply.ex.mcp.target = target.name
  const finish = under(session, message.id, [target.name])
  const isPlain = edit === null
  const stream = new PassedStream(reply, session, names.isTagged ? target.name : null, () => {
    finish()
    core.news.called(session, target.name, message.method)
  })
  const events: LinkEvents = {
    message: (given, eventId) => reply.message(outwardMessage(names, target.name, given), stream.idOf(eventId)),
    answered: (response, eventId) => {
      finish()
      core.news.called(session, target.name, message.method)
      reply.respond(edited(order, response), stream.idOf(eventId))
    },
    failed: (failure) => {
      finish()
      core.news.called(session, target.name, message.method)
      fail(core, reply, session, message.id, target.name, failure)
    },
    stream
  }
  const raw = (bytes: Buffer, eventId?: string | null): void => {
    finish()
    core.news.called(session, target.name, message.method)
    note(reply, bytes)
    if (!names.isTagged || !maySayPlaces(bytes)) {
      reply.respondBytes(bytes, 200, stream.idOf(eventId))
      return
    }
    const read = readMessage(bytes)
    if (isUnreadable(read) || 'method' in read) reply.error(message.id, INTERNAL_ERROR, NO_RESPONSE)
    else reply.respond(edited(order, read), stream.idOf(eventId))
  }
  const headers = core.peers.headersOf(reply.ex)
  const asking = core.asking(session, target, headers, timeoutMs)
  const stop = ask(asking, message, isPlain ? { ...events, answeredBytes: raw } : events, json)
  reply.onGone = () => {
    finish()
    core.news.called(session, target.name, message.method)
    stop()
  }
  // A connection that ends cancels nothing (2025-11-25, transports); where giving up has, this meets nobody.
  reply.onLate = () => {
    const params = { requestId: message.id, reason: 'no answer in time' }
    void core.peers.link(session, target, headers).send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }
}

const NO_RESPONSE = 'the target answered with what is no response'

/** The response with the client's names in it. */
function edited({ core, target, edit }: Forwarding, response: RpcResponse): RpcResponse {
  if (!('result' in response)) return response
  const result = edit === null ? response.result : edit(response.result)
  return { ...response, result: outward(core.names, target.name, result) }
}

/** What logs want to know of an answer that nobody reads. */
function note({ ex: { mcp } }: Reply, bytes: Buffer): void {
  if (mcp === null || mcp.method !== 'tools/call') return
  if (bytes.includes(TOOL_ERROR)) mcp.hasToolError = true
  if (bytes.length > NOTED_BYTES_MAX || !bytes.includes('"error"')) return
  const message = readMessage(bytes)
  if (!isUnreadable(message) && 'error' in message) mcp.errorCode = message.error.code
}

/** Notes where the request of the client runs, for its cancellation. Returns what ends that, once. */
export function under(session: Session, id: RpcId, targets: readonly string[]): () => void {
  const { running } = session
  running.set(id, targets)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    if (running.get(id) === targets) running.delete(id)
  }
}

/** The target has not answered. */
export function fail(
  core: Core,
  reply: Reply,
  session: Session,
  id: RpcId,
  target: string,
  failure: LinkFailure
): void {
  // Of several targets one that refuses even a new session must not end what the client has with the others.
  if (failure.kind === 'expired' && !core.isStateless && !core.names.isTagged) {
    core.sessions.end(session)
    if (!reply.isStream) {
      reply.refuse(404, SESSION_UNKNOWN, 'Session not found', { id })
      return
    }
  }
  if (passChallenge(core, reply, id, failure)) return
  reply.error(id, INTERNAL_ERROR, failureText(target, failure))
}
