/**
 * A target whose server may be of either era, for clients of either era: its links speak the client's era
 * (docs/design/021-mcp-eras.md). Messages between a client and a server of the same era pass unchanged.
 */

import type { RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import { deadline } from '#backends/mcp/targets/deadline.ts'
import type {
  Link,
  LinkEvents,
  LinkFailure,
  LinkOptions,
  ListenEvents,
  Target,
  TargetTraits
} from '#backends/mcp/targets/target.ts'
import type { WorkerState } from '#backends/mcp/workers/state.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { probe } from './era-probe.ts'
import type { Execute } from './owner-requests.ts'
import { StatefulLink, type StatefulParts } from './stateful-link.ts'
import { StatelessLink, type StatelessParts } from './stateless-link.ts'
import type { TargetState } from './target-state.ts'
import { ToolHeaders } from './tool-headers.ts'

interface EraTargetParts {
  /** The target as its kind has compiled it. */
  readonly raw: Target
  readonly backend: string
  /** For the request states that clients bring back to this backend. */
  readonly seal: Seal
  readonly worker: WorkerState
  readonly state: TargetState
}

export class EraTarget implements Target {
  readonly name: string
  readonly traits: TargetTraits
  readonly passesChallenges: boolean
  readonly #stateless: StatelessParts
  readonly #stateful: StatefulParts

  constructor({ raw, backend, seal, worker, state: { eras, pool } }: EraTargetParts) {
    this.name = raw.name
    this.traits = raw.traits
    this.passesChallenges = raw.passesChallenges === true
    const { pendingCalls, ownerRequests, sessionStates: states } = worker
    this.#stateless = { raw, eras, backend, pool, ownerRequests, pendingCalls, seal }
    this.#stateful = { raw, states, tools: new ToolHeaders() }
  }

  get staticLists(): Target['staticLists'] {
    return this.#stateless.raw.staticLists
  }

  get hasSessions(): boolean {
    const { eras, pool } = this.#stateless
    const { sessions } = this.traits
    if (sessions === 'never' || eras.known === 'stateless') return false
    return sessions === 'always' || pool.hasIds
  }

  get capabilities(): number | null {
    const { eras, pool } = this.#stateless
    return eras.capabilities ?? pool.capabilities
  }

  /** A request for another worker: this one owns the caller's session. */
  readonly execute: Execute = (options, message, events, timeoutMs) =>
    new StatelessLink(this.#stateless, options).execute(message, events, timeoutMs)

  open(options: LinkOptions): Link {
    if (options.version === STATELESS) return new StatelessLink(this.#stateless, options)
    if (options.upstreamSession === BRIDGED) return new StatefulLink(this.#stateful, options)
    const { raw } = this.#stateless
    const hasBegun = options.upstreamSession !== null || options.version !== null
    return hasBegun ? raw.open(options) : new HandshakeLink(this.#stateful, options)
  }
}

/**
 * The link of a session that has not begun. The server is tried in the client's own era first: most servers of the new
 * era also speak the old one, and then nothing needs to be translated.
 */
class HandshakeLink implements Link {
  readonly #parts: StatefulParts
  readonly #options: LinkOptions
  #link: Link

  constructor(parts: StatefulParts, options: LinkOptions) {
    this.#parts = parts
    this.#options = options
    this.#link = parts.raw.open(options)
  }

  get upstreamSession(): string | null {
    return this.#link.upstreamSession
  }

  forRequest(headers: HeaderBlock): Link {
    return this.#link.forRequest?.(headers) ?? this.#link
  }

  setVersion(version: string): void {
    this.#link.setVersion(version)
  }

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    if (message.method !== 'initialize' || this.#link.upstreamSession !== null)
      return this.#link.request(message, events, timeoutMs, json)
    let isOver = false
    const leftMs = deadline(timeoutMs)
    const fallBack = (refused: RpcResponse | LinkFailure): void => {
      const pass = (): void => {
        if ('kind' in refused) events.failed(refused)
        else events.answered(refused)
      }
      if (!mayBeStateless(refused)) {
        pass()
        return
      }
      probe(this.#parts.raw, this.#options, leftMs(), (era) => {
        if (isOver) return
        if (era !== 'stateless') {
          pass()
          return
        }
        this.#link.release()
        this.#link = new StatefulLink(this.#parts, this.#options)
        leave = this.#link.request(message, events, leftMs())
      })
    }
    const handshake: LinkEvents = {
      message: (serverMessage, eventId) => events.message(serverMessage, eventId),
      answered: (response) => {
        if ('error' in response) fallBack(response)
        else events.answered(response)
      },
      failed: fallBack
    }
    let leave = this.#link.request(message, handshake, timeoutMs, json)
    return () => {
      isOver = true
      leave()
    }
  }

  send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    return this.#link.send(message)
  }

  listen(lastEventId: string | null, events: ListenEvents): () => void {
    return this.#link.listen(lastEventId, events)
  }

  close(): void {
    this.#link.close()
  }

  release(): void {
    this.#link.release()
  }
}

/** Whether a server that refuses a handshake like this may be a stateless one. */
function mayBeStateless(refused: RpcResponse | LinkFailure): boolean {
  if (!('kind' in refused)) return true
  const { kind, status } = refused
  return (
    kind === 'refused' && status !== null && status >= 400 && status < 500 && ![401, 403, 407, 429].includes(status)
  )
}
