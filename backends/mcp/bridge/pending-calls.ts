/**
 * Calls of this worker that wait for a retry with the client's input, and how a retry finds them from another worker. A
 * worker that has ended, and another replica, have none: the client has to make the call again.
 */
import { createHash, randomBytes } from 'node:crypto'
import {
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcId,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import type { Bus, Resumption } from '#backends/mcp/workers/bus.ts'
import type { RemoteRequests } from '#backends/mcp/workers/remote-requests.ts'
import { isBelowThreshold } from '#engine/kit/dynamic-threshold.ts'
import { answersOf } from './input-requests.ts'
import { NOT_EXECUTED } from './owner-requests.ts'
import { INPUT_WAIT_MS, StatefulCall } from './stateful-call.ts'

/** Calls that may wait in one worker: of all callers, and of one. */
const PENDING_MAX = 2000
const PENDING_PER_OWNER_MAX = 64

/** Only the `owner` may go on with a call; `party` as in LinkOptions. */
export interface CallOwner {
  readonly owner: string
  readonly party: string
}

interface PendingCall {
  readonly call: StatefulCall
  readonly round: number
  readonly owner: string
  readonly party: string
  readonly digest: string
}

/** `requestState`, sealed: worker, call, round, and when it ends (milliseconds of the epoch). */
type State = readonly [worker: string, call: string, round: number, until: number]

export class PendingCalls {
  readonly #bus: Bus
  readonly #pending = new Map<string, PendingCall>()
  readonly #ids = new Map<StatefulCall, string>()
  readonly #remoteRequests: RemoteRequests

  constructor(bus: Bus, remoteRequests: RemoteRequests) {
    this.#bus = bus
    this.#remoteRequests = remoteRequests
    remoteRequests.serve(
      'resume',
      (resumption, events) => this.#resume(resumption, 0, events),
      () => StatefulCall.unknown(0)
    )
  }

  get size(): number {
    return this.#pending.size
  }

  /** The request state for the client; null: too many calls wait. */
  add(call: StatefulCall, { owner, party }: CallOwner, message: RpcRequest, seal: Seal): string | null {
    let ofOwner = 0
    let ofParty = 0
    for (const pending of this.#pending.values()) {
      if (pending.owner === owner) ofOwner++
      if (pending.party === party) ofParty++
    }
    // An unknown client may be another owner with each call.
    if (ofOwner >= PENDING_PER_OWNER_MAX || !isBelowThreshold(ofParty, this.#pending.size, PENDING_MAX)) return null
    const name = this.#ids.get(call) ?? randomBytes(16).toString('base64url')
    this.#ids.set(call, name)
    this.#pending.set(name, { call, round: call.round, owner, party, digest: digestOf(message.method, message.params) })
    const state: State = [this.#bus.self, name, call.round, Date.now() + INPUT_WAIT_MS]
    return seal.close(state)
  }

  remove(call: StatefulCall): void {
    const name = this.#ids.get(call)
    this.#ids.delete(call)
    if (name !== undefined) this.#pending.delete(name)
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
    const pending = this.#pending.get(wanted.call)
    const isIts = pending !== undefined && pending.round === wanted.round
    if (!isIts || pending.owner !== wanted.owner || pending.digest !== wanted.digest) return null
    // One retry for one interim result: the next has another state.
    this.#pending.delete(wanted.call)
    const leave = pending.call.attach(id, events, wanted.timeoutMs)
    pending.call.answer(wanted.answers)
    return leave
  }

  #passOn(to: string, id: RpcId, resumption: Resumption, events: LinkEvents): () => void {
    const body = { kind: 'resume' as const, ...resumption }
    const lost = (waiting: LinkEvents): void => {
      // The call may still wait there: it must not be made a second time.
      if (this.#bus.mayExist(to)) waiting.failed(NOT_EXECUTED)
      else waiting.answered(StatefulCall.unknown(id))
    }
    return this.#remoteRequests.send({ to, id, events, waitMs: resumption.timeoutMs, body, lost })
  }
}

function openState(seal: Seal, text: JsonObject[string] | undefined): State | null {
  const state = typeof text === 'string' && text.length < 1024 ? seal.open(text) : undefined
  if (!Array.isArray(state) || isObject(state)) return null
  const [worker, call, round, until] = state as unknown[]
  const isState = typeof worker === 'string' && typeof call === 'string' && typeof round === 'number'
  return isState && typeof until === 'number' && until > Date.now() ? [worker, call, round, until] : null
}

/** The same for equal method and parameters, whatever the order of keys. Parameters are only some levels deep. */
export function digestOf(method: string, params: JsonObject | undefined): string {
  const { _meta, inputResponses, requestState, ...rest } = params ?? {}
  return createHash('sha256').update(method).update('\n').update(canonical(rest)).digest('base64url')
}

function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}
