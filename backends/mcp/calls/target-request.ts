/**
 * One request to one target. Where the target has lost the session, a new one is initialized for it, as the client once
 * did, and the request is sent again: a client's session outlives those with its targets.
 */

import type { RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import type { Services } from '#backends/mcp/services.ts'
import { restore } from '#backends/mcp/session/restore.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { throughBreaker } from '#backends/mcp/targets/circuit-breaker.ts'
import { failure, type LinkEvents, type LinkFailure, type Target } from '#backends/mcp/targets/target.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { sendTraced } from './traced-request.ts'

export interface TargetRequest {
  /** Of the client. */
  readonly ex: Exchange
  readonly services: Services
  readonly session: Session
  readonly target: Target
  /** Forwarded from the client. */
  readonly headers: HeaderBlock
  /** For the response; 0: no timeout, and no circuit breaker. */
  readonly timeoutMs: number
}

/** Returns what gives the request up. `json`: the message as bytes, if they may be sent as they are. */
export function sendRequest(
  request: TargetRequest,
  message: RpcRequest,
  events: LinkEvents,
  json?: Buffer
): () => void {
  const trace = TRACE.get(request.ex)
  return trace === null
    ? sendUntraced(request, message, events, json)
    : // The bytes have no context, so they are not sent as they are.
      sendTraced(trace, request, message, events, sendUntraced)
}

function sendUntraced(request: TargetRequest, message: RpcRequest, events: LinkEvents, json?: Buffer): () => void {
  const { services, target, timeoutMs } = request
  return throughBreaker(
    timeoutMs === 0 ? null : services.breakerOf(target),
    (refused) => events.failed(refused),
    (record, isWaited) => sendRestoring(request, message, isWaited ? events : NO_EVENTS, record, json)
  )
}

/** The first one may find a session that another request has begun, and that the target has lost since. */
const RESTORES_MAX = 2

/** For a probe: only its outcome is of interest. */
const NO_EVENTS: LinkEvents = { message() {}, answered() {}, failed() {} }

function sendRestoring(
  request: TargetRequest,
  message: RpcRequest,
  events: LinkEvents,
  record: (outcome: LinkFailure | null) => void,
  json?: Buffer
): () => void {
  const { services, session, target, headers, timeoutMs } = request
  let isCancelled = false
  let restores = 0
  let stop: (() => void) | null = null

  const fail = (why: LinkFailure): void => {
    record(why)
    events.failed(why)
  }
  const restoreAndSend = (): void => {
    restores++
    restore(request, (why) => {
      if (isCancelled) return
      if (why === null) send()
      else fail(why)
    })
  }
  const send = (): void => {
    const begun = session.targetSessions.get(target.name)
    if (begun === undefined) {
      if (restores > 0) fail(failure('broken', 'the session could not be begun'))
      else restoreAndSend()
      return
    }
    const used = begun.upstreamId
    const { answeredBytes, cacheHints, stream } = events
    const attempt: LinkEvents = {
      message(serverMessage, eventId) {
        services.listChanges.onMessage(target.name, serverMessage)
        events.message(serverMessage, eventId)
      },
      answered(response, eventId) {
        record(null)
        events.answered(response, eventId)
      },
      failed(why) {
        if (why.kind !== 'expired' || restores === RESTORES_MAX) fail(why)
        else if (session.targetSessions.get(target.name)?.upstreamId !== used) {
          // Another request has restored it meanwhile.
          restores++
          send()
        } else restoreAndSend()
      }
    }
    if (answeredBytes !== undefined) {
      attempt.answeredBytes = (bytes, eventId) => {
        record(null)
        answeredBytes.call(events, bytes, eventId)
      }
    }
    if (cacheHints !== undefined) attempt.cacheHints = cacheHints.bind(events)
    if (stream !== undefined) attempt.stream = stream
    stop = services.targets.link(session, target, headers).request(message, attempt, timeoutMs, json)
  }
  send()
  return () => {
    isCancelled = true
    stop?.()
  }
}
