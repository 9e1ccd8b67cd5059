/**
 * A target whose server may be of either era, for clients of either era: its links speak the era of the client
 * (docs/design/021-mcp-eras.md). What is of the same era on both sides goes through untouched.
 */

import type { RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { Healers } from '#backends/mcp/session/restore-owner.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import { Rests } from '#backends/mcp/targets/circuit-breaker.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import { Bus, type Place } from '#backends/mcp/workers/bus.ts'
import { Turns } from '#backends/mcp/workers/remote-requests.ts'
import { probe } from './era-probe.ts'
import { type CarryOut, Errands } from './owner-requests.ts'
import { HeldCalls } from './pending-calls.ts'
import { SessionStates } from './session-state.ts'
import { StatefulLink } from './stateful-link.ts'
import { StatelessLink, type StatelessParts } from './stateless-link.ts'
import { type KeptTarget, KeptTargets } from './target-state.ts'
import { ToolFields } from './tool-headers.ts'

/** What all targets of a worker share, and what outlives a configuration. */
export interface BridgeState {
  readonly bus: Bus
  readonly held: HeldCalls
  readonly states: SessionStates
  readonly errands: Errands
  readonly rests: Rests
  readonly targets: KeptTargets
  readonly healers: Healers
}

export function bridgeState(bus: Bus): BridgeState {
  const turns = new Turns(bus)
  const errands = new Errands(bus, turns)
  const kept = { held: new HeldCalls(bus, turns), states: new SessionStates(bus), rests: new Rests(bus) }
  return { bus, ...kept, targets: new KeptTargets(), errands, healers: new Healers(bus, turns) }
}

let state: BridgeState | null = null

/** That of this worker. */
export function workerState(place: Place): BridgeState {
  state ??= bridgeState(new Bus('weir.mcp', place))
  return state
}

/** Where it is: the name of the backend, and what is kept with it there. */
interface Of {
  readonly name: string
  readonly kept: KeptTarget
}

export class EraTarget implements Target {
  readonly name: string
  readonly kind: Target['kind']
  readonly raw: Target
  readonly states: SessionStates
  readonly tools = new ToolFields()
  readonly #stateless: StatelessParts

  /** `seal`: of this backend, for what clients bring back. */
  constructor(raw: Target, seal: Seal, { held, states, errands }: BridgeState, { name, kept }: Of) {
    this.name = raw.name
    this.kind = raw.kind
    this.raw = raw
    this.states = states
    const { eras, pool } = kept
    this.#stateless = { raw, eras, backend: name, pool, errands, held, seal }
  }

  get fixed(): Target['fixed'] {
    return this.raw.fixed
  }

  get remembers(): boolean {
    const { eras, pool } = this.#stateless
    if (this.kind === 'openapi' || eras.known === 'stateless') return false
    return this.kind !== 'http' || pool.hasIds
  }

  /** A request for what is kept for its caller in this worker. */
  readonly carryOut: CarryOut = (options, message, events, timeoutMs) =>
    new StatelessLink(this.#stateless, options).carryOut(message, events, timeoutMs)

  get declared(): number | null {
    const { eras, pool } = this.#stateless
    return eras.declared ?? pool.declared
  }

  open(options: LinkOptions): Link {
    if (options.version === STATELESS) return new StatelessLink(this.#stateless, options)
    if (options.upstreamSession === BRIDGED) return new StatefulLink(this, options)
    const hasBegun = options.upstreamSession !== null || options.version !== null
    return hasBegun ? this.raw.open(options) : new BeginningLink(this, options)
  }
}

/**
 * The link of a session that is only about to begin. The server is asked in the client's own era first: most servers
 * that know the new one know the old one too, and nothing is lost in words of one's own.
 */
class BeginningLink implements Link {
  readonly #target: EraTarget
  readonly #options: LinkOptions
  #link: Link

  constructor(target: EraTarget, options: LinkOptions) {
    this.#target = target
    this.#options = options
    this.#link = target.raw.open(options)
  }

  get upstreamSession(): string | null {
    return this.#link.upstreamSession
  }

  setVersion(version: string): void {
    this.#link.setVersion(version)
  }

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    if (message.method !== 'initialize' || this.#link.upstreamSession !== null)
      return this.#link.request(message, events, timeoutMs, json)
    let isOver = false
    const endsAt = performance.now() + timeoutMs
    const leftMs = (): number => (timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(endsAt - performance.now())))
    const fallBack = (refused: RpcResponse | LinkFailure): void => {
      const give = (): void => {
        if ('kind' in refused) events.failed(refused)
        else events.answered(refused)
      }
      if (!mayBeStateless(refused)) {
        give()
        return
      }
      probe(this.#target.raw, this.#options, leftMs(), (era) => {
        if (isOver) return
        if (era !== 'stateless') {
          give()
          return
        }
        this.#link.release()
        this.#link = new StatefulLink(this.#target, this.#options)
        leave = this.#link.request(message, events, leftMs())
      })
    }
    const heard: LinkEvents = {
      message: (said, eventId) => events.message(said, eventId),
      answered: (response) => {
        if ('error' in response) fallBack(response)
        else events.answered(response)
      },
      failed: fallBack
    }
    let leave = this.#link.request(message, heard, timeoutMs, json)
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

/** Whether who refuses a handshake so may be a server that has none. */
function mayBeStateless(refused: RpcResponse | LinkFailure): boolean {
  if (!('kind' in refused)) return true
  const { kind, status } = refused
  return (
    kind === 'refused' && status !== null && status >= 400 && status < 500 && ![401, 403, 407, 429].includes(status)
  )
}
