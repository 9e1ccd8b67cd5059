/**
 * One owner for a stateless caller's sessions with a stateful server: they are in one worker, and the others send the
 * caller's requests there. So the session is the same whichever worker a connection has reached.
 */

import { appendFlat } from '#backends/mcp/protocol/flat-headers.ts'
import { errorResponse, INTERNAL_ERROR, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { failure, type LinkEvents, type LinkOptions } from '#backends/mcp/targets/target.ts'
import type { Bus, OwnerRequest } from '#backends/mcp/workers/bus.ts'
import type { RemoteRequests } from '#backends/mcp/workers/remote-requests.ts'
import { monotonicClock } from '#engine/kit/monotonic.ts'

const monotonic = monotonicClock()

/** Sends a request to a target from this worker. Returns what gives it up. */
export type Execute = (options: LinkOptions, message: RpcRequest, events: LinkEvents, timeoutMs: number) => () => void

export class OwnerRequests {
  readonly #bus: Bus
  readonly #remoteRequests: RemoteRequests
  /** By backend and target, of the active configuration. */
  readonly #targets = new Map<string, ReadonlyMap<string, Execute>>()

  constructor(bus: Bus, remoteRequests: RemoteRequests) {
    this.#bus = bus
    this.#remoteRequests = remoteRequests
    remoteRequests.serve(
      'request',
      (body, events) => this.#execute(body, events),
      ({ message, target }) =>
        errorResponse(message.id, INTERNAL_ERROR, `target ${target}: is not in the configuration`)
    )
  }

  /** A configuration of `backend` is active: `targets` are all that it has. Returns what ends that. */
  serve(backend: string, targets: ReadonlyMap<string, Execute>): () => void {
    this.#targets.set(backend, targets)
    return () => {
      // A newer configuration may have replaced it.
      if (this.#targets.get(backend) === targets) this.#targets.delete(backend)
    }
  }

  /** Null: this worker owns the session. */
  ownerOf(sessionKey: string): string | null {
    const owner = this.#bus.ownerOf(sessionKey)
    return owner === this.#bus.self ? null : owner
  }

  send(to: string, request: Omit<OwnerRequest, 'sentAt'>, events: LinkEvents): () => void {
    const { message, timeoutMs: waitMs } = request
    const body = { kind: 'request' as const, ...request, sentAt: monotonic() }
    const lost = (waiting: LinkEvents): void => waiting.failed(NOT_EXECUTED)
    return this.#remoteRequests.send({ to, id: message.id, events, waitMs, body, lost })
  }

  #execute(request: OwnerRequest, events: LinkEvents): (() => void) | null {
    const { backend, target, sessionKey, party, headers: fields, message, timeoutMs, sentAt } = request
    const execute = this.#targets.get(backend)?.get(target)
    const headers = appendFlat(fields)
    const options = { sessionKey, upstreamSession: null, version: null, headers, party }
    const leftMs = timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(timeoutMs - (monotonic() - sentAt)))
    return execute?.(options, message, events, leftMs) ?? null
  }
}

/** The request has not begun, and will not. */
export const NOT_EXECUTED = failure(
  'unreachable',
  'the worker with the session is busy or not there: the request was not carried out, and may be sent again'
)
