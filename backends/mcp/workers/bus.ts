/**
 * Words between the workers of one process, where a request reaches one worker and what it is about is held by another.
 * Structured clones over a BroadcastChannel: nothing leaves the process, and what is not understood is overlooked.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import type { Listed } from '#backends/mcp/lists/cache.ts'
import type { JsonObject, RpcId, RpcMessage, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import type { Claim } from '#engine/kit/claim.ts'

/** What workers tell each other. `to`: the one worker that it is for; it is not told to others. */
export type Word =
  | ({ readonly kind: 'resume'; readonly to: string } & TurnName & Resumption)
  | ({ readonly kind: 'ask'; readonly to: string } & TurnName & Errand)
  | ({ readonly kind: 'heal'; readonly to: string; readonly fields: readonly string[] } & TurnName & Healing)
  | { readonly kind: 'dismiss'; readonly to: string; readonly turn: string }
  | { readonly kind: 'turn'; readonly to: string; readonly turn: string; readonly event: TurnEvent }
  | { readonly kind: 'response'; readonly key: string; readonly response: RpcResponse }
  | { readonly kind: 'state'; readonly key: string; readonly change: StateChange }
  /** A worker begins, perhaps in the place of one that has ended. */
  | { readonly kind: 'born'; readonly self: string; readonly life: number }
  /** A target has been silent so often, or, 0, answers again; for milliseconds. */
  | { readonly kind: 'silence'; readonly place: string; readonly silences: number; readonly restMs: number }
  | { readonly kind: 'listChanged'; readonly backend: string; readonly target: string; readonly what: Listed }

/** What one worker asks another to do. `claim`: who does it (remote-requests.ts), shared by all that hear of it. */
export interface TurnName {
  readonly from: string
  readonly turn: string
  readonly claim: Claim
}

/** A request of a caller whose sessions another worker has. */
export interface Errand {
  readonly backend: string
  readonly target: string
  readonly sessionKey: string
  readonly party: string
  /** Fields for the target, flat: name and value by turns. */
  readonly fields: readonly string[]
  readonly message: RpcRequest
  readonly timeoutMs: number
  /** When it was sent, milliseconds of `monotonic`: its time runs while the other worker is busy. */
  readonly sentAt: number
}

/** A session of a client with a target that has forgotten it. */
export interface Healing {
  readonly backend: string
  readonly target: string
  /** As the client has it, and whose it is. */
  readonly id: string
  readonly caller: string
  /** What the target has forgotten; undefined: nothing was begun with it. */
  readonly used: string | null | undefined
}

/** A retry for a call that waits elsewhere. */
export interface Resumption {
  readonly call: string
  readonly round: number
  readonly owner: string
  readonly digest: string
  readonly answers: JsonObject
  readonly timeoutMs: number
}

export type TurnEvent =
  | { readonly kind: 'message'; readonly message: RpcMessage }
  | { readonly kind: 'answered'; readonly response: RpcResponse }
  | { readonly kind: 'failed'; readonly failure: LinkFailure }

/** What the session of a stateful client keeps, where its server keeps nothing. */
export type StateChange =
  | { readonly kind: 'level'; readonly level: string }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly uri: string }
  /** A request of the client is to be given up. */
  | { readonly kind: 'cancel'; readonly id: RpcId }
  | { readonly kind: 'end' }

/** Which of how many workers. */
export interface Place {
  readonly index: number
  readonly count: number
}

/** What takes claims: from 1 on. */
const LIFE_MAX = 2 ** 31 - 1

const nameOf = (worker: number): string => `worker-${worker}`

export class Bus {
  /** Names this worker to the others, and in what clients bring back. */
  readonly self: string
  /** This worker, and not one that had its name before it. */
  readonly life = randomInt(1, LIFE_MAX)
  readonly #count: number
  readonly #isNamed: boolean
  readonly #channel: BroadcastChannel
  readonly #listeners = new Set<(word: Word) => void>()
  #closed = false

  /** `place`: among the workers of the process; null: nobody needs to find this one. */
  constructor(channel = 'weir.mcp', place: Place | null = null) {
    this.#count = place?.count ?? 1
    this.#isNamed = place !== null
    this.self = place === null ? randomBytes(9).toString('base64url') : nameOf(place.index)
    this.#channel = new BroadcastChannel(channel)
    this.#channel.onmessage = (event) => this.#hear((event as { data: unknown }).data as Word)
    // A worker that has nothing else to do may end.
    unref(this.#channel)
    if (place !== null) this.tell({ kind: 'born', self: this.self, life: this.life })
  }

  /** The worker that has what is kept for `key`: all of them come to the same. */
  ownerOf(key: string): string {
    if (this.#count === 1) return this.self
    return nameOf(createHash('sha256').update(key).digest().readUInt32LE() % this.#count)
  }

  /** Whether there may be a worker of this name: what clients bring back may name one of another process. */
  mayKnow(worker: string): boolean {
    if (!this.#isNamed) return true
    for (let i = 0; i < this.#count; i++) if (nameOf(i) === worker) return true
    return false
  }

  #hear(word: Word): void {
    if ('to' in word && word.to !== this.self) return
    for (const listener of this.#listeners) listener(word)
  }

  /** Nothing is told once the bus is closed: work that ends later has nobody to tell. */
  tell(word: Word): void {
    if (!this.#closed) this.#channel.postMessage(word)
  }

  listen(listener: (word: Word) => void): void {
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
