/**
 * Messages between the workers of one process: a request may reach one worker while another holds its session.
 * Structured clones over a BroadcastChannel: nothing leaves the process. Unknown messages are ignored.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import type { ListTopic } from '#backends/mcp/lists/cache.ts'
import type { JsonObject, RpcId, RpcMessage, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Claim } from '#engine/kit/claim.ts'

/** A request that another worker serves (remote-requests.ts). */
export type RemoteBody =
  | ({ readonly kind: 'resume' } & Resumption)
  | ({ readonly kind: 'request' } & OwnerRequest)
  | ({ readonly kind: 'restore' } & RestoreRequest)

/** `to`: the only worker that handles it. */
export type BusMessage =
  | (RemoteBody & { readonly to: string; readonly from: string; readonly request: string; readonly claim: Claim })
  | { readonly kind: 'cancel'; readonly to: string; readonly request: string }
  | { readonly kind: 'event'; readonly to: string; readonly request: string; readonly event: RemoteEvent }
  | { readonly kind: 'response'; readonly key: string; readonly response: RpcResponse }
  | { readonly kind: 'state'; readonly key: string; readonly change: StateChange }
  /** A worker has started, perhaps as the successor of one that has ended. */
  | { readonly kind: 'started'; readonly self: string; readonly incarnation: number }
  /** Timeouts of a target in a row (0: it answers again), and for how long its breaker is open. */
  | { readonly kind: 'breaker'; readonly key: string; readonly timeouts: number; readonly openMs: number }
  | { readonly kind: 'listChanged'; readonly backend: string; readonly target: string; readonly what: ListTopic }

/** A request of a caller whose sessions another worker owns. */
export interface OwnerRequest {
  readonly backend: string
  readonly target: string
  readonly sessionKey: string
  readonly party: string
  /** For the target, flat: name, value, name, value. */
  readonly headers: readonly string[]
  readonly message: RpcRequest
  readonly timeoutMs: number
  /** Milliseconds of `monotonic`. The timeout also runs while the other worker is busy. */
  readonly sentAt: number
}

/** A client's session is to be initialized again with a target that has lost it. */
export interface RestoreRequest {
  readonly backend: string
  readonly target: string
  /** Of the client's session. */
  readonly id: string
  readonly caller: string
  /** Id of the lost session; undefined: there was none. */
  readonly lost: string | null | undefined
  /** As those of OwnerRequest. */
  readonly headers: readonly string[]
}

/** A retry of a call that waits in another worker. */
export interface Resumption {
  readonly call: string
  readonly round: number
  readonly owner: string
  /** Of the request (pending-calls.ts). */
  readonly digest: string
  readonly answers: JsonObject
  readonly timeoutMs: number
}

export type RemoteEvent =
  | { readonly kind: 'message'; readonly message: RpcMessage }
  | { readonly kind: 'answered'; readonly response: RpcResponse }
  | { readonly kind: 'failed'; readonly failure: LinkFailure }

/** State of a stateful client's session with a stateless server. */
export type StateChange =
  | { readonly kind: 'level'; readonly level: string }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly uri: string }
  /** The client cancels a request. */
  | { readonly kind: 'cancel'; readonly id: RpcId }
  | { readonly kind: 'end' }

/** Claims are taken by numbers from 1 on. */
const INCARNATION_MAX = 2 ** 31 - 1

const nameOf = (worker: number): string => `worker-${worker}`

export class Bus {
  /** Name of this worker, for the others and in request states that clients bring back. */
  readonly self: string
  /** Tells this worker from a predecessor of the same name. */
  readonly incarnation = randomInt(1, INCARNATION_MAX)
  readonly #count: number
  readonly #isNamed: boolean
  readonly #channel: BroadcastChannel
  readonly #listeners = new Set<(message: BusMessage) => void>()
  #closed = false

  /** `place`: among the workers of the process; null: a bus without an address. */
  constructor(channel = 'weir.mcp', place: BackendContext['worker'] | null = null) {
    this.#count = place?.count ?? 1
    this.#isNamed = place !== null
    this.self = place === null ? randomBytes(9).toString('base64url') : nameOf(place.index)
    this.#channel = new BroadcastChannel(channel)
    this.#channel.onmessage = (event) => this.#hear((event as { data: unknown }).data as BusMessage)
    // A worker that has nothing else to do may end.
    unref(this.#channel)
    if (place !== null) this.publish({ kind: 'started', self: this.self, incarnation: this.incarnation })
  }

  /** The worker that owns the state of `key`: the same for all of them. */
  ownerOf(key: string): string {
    if (this.#count === 1) return this.self
    return nameOf(createHash('sha256').update(key).digest().readUInt32LE() % this.#count)
  }

  /** Whether this process may have a worker of this name: a request state may come from another process. */
  mayExist(worker: string): boolean {
    if (!this.#isNamed) return true
    for (let i = 0; i < this.#count; i++) if (nameOf(i) === worker) return true
    return false
  }

  #hear(message: BusMessage): void {
    if ('to' in message && message.to !== this.self) return
    for (const listener of this.#listeners) listener(message)
  }

  /** Does nothing once the bus is closed. */
  publish(message: BusMessage): void {
    if (!this.#closed) this.#channel.postMessage(message)
  }

  subscribe(listener: (message: BusMessage) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#closed = true
    this.#channel.close()
    this.#listeners.clear()
  }
}

function unref(channel: BroadcastChannel): void {
  if ('unref' in channel && typeof channel.unref === 'function') channel.unref()
}
