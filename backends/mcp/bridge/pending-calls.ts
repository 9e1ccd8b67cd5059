/**
 * Calls that wait for a retry, in this worker; and how a retry that reached another worker finds them. A worker that
 * has ended, and another replica, hold nothing: the client is told to make the call again.
 */
import { randomBytes } from 'node:crypto'
import type { JsonObject, RpcId, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/stateless.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import type { Bus, Resumption, TurnName, Word } from '#backends/mcp/workers/bus.ts'
import type { Turns } from '#backends/mcp/workers/remote-requests.ts'
import { isBelowThreshold } from '#engine/kit/dynamic-threshold.ts'
import { answersOf } from './input-requests.ts'
import { digestOf } from './link-events.ts'
import { NOT_TAKEN } from './owner-requests.ts'
import { INPUT_WAIT_MS, StatefulCall } from './stateful-call.ts'

/** Calls that one worker lets wait: of all callers, and of one. */
const HELD_MAX = 2000
const HELD_OF_ONE_MAX = 64

/** Who makes a call: only its `owner` may go on with it; `party` as in LinkOptions. */
export interface Whose {
  readonly owner: string
  readonly party: string
}

interface Held {
  readonly call: StatefulCall
  readonly round: number
  readonly owner: string
  readonly party: string
  readonly digest: string
}

/** What the client brings back, sealed: worker, call, round, and when it ends (milliseconds of the epoch). */
type State = readonly [worker: string, call: string, round: number, until: number]

export class HeldCalls {
  readonly #bus: Bus
  readonly #held = new Map<string, Held>()
  readonly #names = new Map<StatefulCall, string>()
  readonly #turns: Turns

  constructor(bus: Bus, turns: Turns) {
    this.#bus = bus
    this.#turns = turns
    bus.listen((word) => this.#hear(word))
  }

  get size(): number {
    return this.#held.size
  }

  /** The state for the client; null: too many wait. */
  hold(call: StatefulCall, { owner, party }: Whose, message: RpcRequest, seal: Seal): string | null {
    let ofOwner = 0
    let ofParty = 0
    for (const held of this.#held.values()) {
      if (held.owner === owner) ofOwner++
      if (held.party === party) ofParty++
    }
    // A client that nobody knows may be another owner with each call.
    if (ofOwner >= HELD_OF_ONE_MAX || !isBelowThreshold(ofParty, this.#held.size, HELD_MAX)) return null
    const name = this.#names.get(call) ?? randomBytes(16).toString('base64url')
    this.#names.set(call, name)
    this.#held.set(name, { call, round: call.round, owner, party, digest: digestOf(message.method, message.params) })
    const state: State = [this.#bus.self, name, call.round, Date.now() + INPUT_WAIT_MS]
    return seal.close(state)
  }

  over(call: StatefulCall): void {
    const name = this.#names.get(call)
    this.#names.delete(call)
    if (name !== undefined) this.#held.delete(name)
  }

  /** A retry. Returns what gives it up. */
  retry(message: RpcRequest, owner: string, seal: Seal, events: LinkEvents, timeoutMs: number): () => void {
    const state = openState(seal, message.params?.requestState)
    if (state === null) {
      events.answered(StatefulCall.unknown(message.id))
      return () => undefined
    }
    const [worker, call, round] = state
    const digest = digestOf(message.method, message.params)
    const resumption = { call, round, owner, digest, answers: answersOf(message.params), timeoutMs }
    if (worker !== this.#bus.self) return this.#passOn(worker, message.id, resumption, events)
    const leave = this.#resume(resumption, message.id, events)
    if (leave === null) events.answered(StatefulCall.unknown(message.id))
    return leave ?? (() => undefined)
  }

  /** Null: no such call waits for this caller and this request. */
  #resume(wanted: Resumption, id: RpcId, events: LinkEvents): (() => void) | null {
    const held = this.#held.get(wanted.call)
    const isIts = held !== undefined && held.round === wanted.round
    if (!isIts || held.owner !== wanted.owner || held.digest !== wanted.digest) return null
    // One retry for one interim result: the next has another state.
    this.#held.delete(wanted.call)
    const leave = held.call.attach(id, events, wanted.timeoutMs)
    held.call.answer(wanted.answers)
    return leave
  }

  #passOn(to: string, id: RpcId, resumption: Resumption, events: LinkEvents): () => void {
    const word = (name: TurnName): Word => ({ kind: 'resume', to, ...name, ...resumption })
    const lost = (waiting: LinkEvents): void => {
      // A call that waits on is not to be made a second time beside it.
      if (this.#bus.mayKnow(to)) waiting.failed(NOT_TAKEN)
      else waiting.answered(StatefulCall.unknown(id))
    }
    return this.#turns.send({ to, id, events, waitMs: resumption.timeoutMs, word, lost })
  }

  #hear(word: Word): void {
    if (word.kind !== 'resume') return
    const start = (events: LinkEvents): (() => void) | null => this.#resume(word, 0, events)
    this.#turns.host(word, start, StatefulCall.unknown(0))
  }
}

function openState(seal: Seal, text: JsonObject[string] | undefined): State | null {
  const state = typeof text === 'string' && text.length < 1024 ? seal.open(text) : undefined
  if (!Array.isArray(state) || isObject(state)) return null
  const [worker, call, round, until] = state as unknown[]
  const isState = typeof worker === 'string' && typeof call === 'string' && typeof round === 'number'
  return isState && typeof until === 'number' && until > Date.now() ? [worker, call, round, until] : null
}
