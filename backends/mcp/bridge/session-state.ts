/**
 * State of a stateful client's session with a stateless server: its log level, its subscriptions, requests under way,
 * and requests to the client that wait for a response. All workers of the process share it; a restart loses it.
 */

import type { RpcId, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { Bus, StateChange } from '#backends/mcp/workers/bus.ts'
import { Lru } from '#engine/kit/lru.ts'
import { RESOURCES_MAX } from './subscription.ts'

/** Sessions that one worker remembers; the others have the initial state again. */
const SESSIONS_MAX = 10_000

interface State {
  level: string | null
  readonly uris: Set<string>
  /** Requests under way in this worker, by the client's id: what cancels them. */
  readonly running: Map<RpcId, () => void>
  /** Streams of this worker, which are notified of changed subscriptions. */
  readonly streams: Set<() => void>
}

export class SessionStates {
  readonly #bus: Bus
  readonly #states = new Lru<string, State>(SESSIONS_MAX)
  /** Requests to clients that wait for a response, by id; ids are not guessable. */
  readonly #waits = new Map<string, { readonly key: string; readonly then: (response: RpcResponse) => void }>()

  constructor(bus: Bus) {
    this.#bus = bus
    bus.subscribe((message) => {
      if (message.kind === 'state') this.#apply(message.key, message.change)
      else if (message.kind === 'response') this.#respond(message.key, message.response)
    })
  }

  #of(key: string): State {
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const made: State = { level: null, uris: new Set(), running: new Map(), streams: new Set() }
    this.#states.set(key, made)
    return made
  }

  level(key: string): string | null {
    return this.#states.get(key)?.level ?? null
  }

  uris(key: string): readonly string[] {
    return [...(this.#states.get(key)?.uris ?? [])]
  }

  hasRoom(key: string): boolean {
    return (this.#states.get(key)?.uris.size ?? 0) < RESOURCES_MAX
  }

  /** Here and in all other workers. */
  change(key: string, change: StateChange): void {
    this.#apply(key, change)
    this.#bus.publish({ kind: 'state', key, change })
  }

  #apply(key: string, change: StateChange): void {
    if (change.kind === 'end') {
      const state = this.#states.get(key)
      this.#states.delete(key)
      for (const leave of [...(state?.running.values() ?? [])]) leave()
      return
    }
    if (change.kind === 'cancel') {
      this.#states.get(key)?.running.get(change.id)?.()
      return
    }
    const state = this.#of(key)
    if (change.kind === 'level') state.level = change.level
    else if (change.kind === 'unsubscribe') state.uris.delete(change.uri)
    else if (state.uris.size < RESOURCES_MAX) state.uris.add(change.uri)
    if (change.kind !== 'level') for (const changed of [...state.streams]) changed()
  }

  /** Calls back whenever subscriptions have changed. Returns what ends that. */
  watch(key: string, changed: () => void): () => void {
    const { streams } = this.#of(key)
    streams.add(changed)
    return () => streams.delete(changed)
  }

  /** A request of the client is under way in this worker. Returns what to call when it is over. */
  run(key: string, id: RpcId, leave: () => void): () => void {
    const { running } = this.#of(key)
    running.set(id, leave)
    return () => {
      if (running.get(id) === leave) running.delete(id)
    }
  }

  /** A request to the client was sent under `id`. Returns what forgets it. */
  await(key: string, id: string, then: (response: RpcResponse) => void): () => void {
    this.#waits.set(id, { key, then })
    return () => this.#waits.delete(id)
  }

  /** A response of the client, for the worker that waits for it. */
  respond(key: string, response: RpcResponse): void {
    if (!this.#respond(key, response)) this.#bus.publish({ kind: 'response', key, response })
  }

  #respond(key: string, response: RpcResponse): boolean {
    const { id } = response
    const wait = typeof id === 'string' ? this.#waits.get(id) : undefined
    // It must come from the client of the same session.
    if (wait === undefined || wait.key !== key) return false
    this.#waits.delete(String(id))
    wait.then(response)
    return true
  }
}
