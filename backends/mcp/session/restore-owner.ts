/**
 * One owner for restoring sessions with servers: each worker finds out by itself that a server has lost one, and all
 * must agree on its replacement. A client's session has one worker that restores it; the others ask that one.
 */

import { errorResponse, INTERNAL_ERROR } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents, LinkFailure } from '#backends/mcp/targets/target.ts'
import type { Bus, RestoreRequest } from '#backends/mcp/workers/bus.ts'
import type { RemoteRequests } from '#backends/mcp/workers/remote-requests.ts'
import type { TargetSession } from './session.ts'

type Outcome = Readonly<TargetSession> | LinkFailure
export type Restore = (request: RestoreRequest, done: (outcome: Outcome) => void) => void

const GONE = errorResponse(0, INTERNAL_ERROR, 'nobody begins it')

export class RestoreOwners {
  readonly #bus: Bus
  readonly #remoteRequests: RemoteRequests
  /** By backend, of the active configuration. */
  readonly #backends = new Map<string, Restore>()

  constructor(bus: Bus, remoteRequests: RemoteRequests) {
    this.#bus = bus
    this.#remoteRequests = remoteRequests
    remoteRequests.serve(
      'restore',
      (request, events) => this.#restore(request, events),
      () => GONE
    )
  }

  /** As OwnerRequests.serve. */
  serve(backend: string, restore: Restore): () => void {
    this.#backends.set(backend, restore)
    return () => {
      if (this.#backends.get(backend) === restore) this.#backends.delete(backend)
    }
  }

  /** False: this worker restores the session `key` itself. `done` with null: the owner is gone. */
  send(key: string, request: RestoreRequest, done: (outcome: Outcome | null) => void): boolean {
    const to = this.#bus.ownerOf(key)
    if (to === this.#bus.self) return false
    const events: LinkEvents = {
      message: () => undefined,
      failed: done,
      answered: (response) => done('result' in response ? (response.result as unknown as TargetSession) : null)
    }
    const body = { kind: 'restore' as const, ...request }
    this.#remoteRequests.send({ to, id: 0, events, waitMs: 0, body, lost: () => events.answered(GONE) })
    return true
  }

  #restore(request: RestoreRequest, events: LinkEvents): (() => void) | null {
    const restore = this.#backends.get(request.backend)
    restore?.(request, (outcome) => {
      if ('kind' in outcome) events.failed(outcome)
      else events.answered({ jsonrpc: '2.0', id: 0, result: { ...outcome } })
    })
    return restore === undefined ? null : () => undefined
  }
}
