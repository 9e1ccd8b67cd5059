/**
 * One owner for sessions with servers that are begun anew: each worker finds out for itself that a server has forgotten
 * one, and all must come to the same new one. A session has one worker that begins it, and the others ask that.
 */

import { faultOf } from '#backends/mcp/bridge/link-events.ts'
import { fieldsOf, headersOf } from '#backends/mcp/bridge/owner-requests.ts'
import type { LinkEvents, LinkFailure } from '#backends/mcp/targets/target.ts'
import type { Bus, Healing, TurnName, Word } from '#backends/mcp/workers/bus.ts'
import type { Turns } from '#backends/mcp/workers/remote-requests.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

/** What the client's session has with one target. */
export interface Healed {
  readonly upstream: string | null
  readonly version: string
}

type Outcome = Healed | LinkFailure
export type Heal = (healing: Healing, headers: HeaderBlock, done: (outcome: Outcome) => void) => void

export class Healers {
  readonly #bus: Bus
  readonly #turns: Turns
  /** By backend, of the configuration in force. */
  readonly #heals = new Map<string, Heal>()

  constructor(bus: Bus, turns: Turns) {
    this.#bus = bus
    this.#turns = turns
    bus.listen((word) => this.#hear(word))
  }

  /** As with errands. */
  serve(backend: string, heal: Heal): () => void {
    this.#heals.set(backend, heal)
    return () => {
      if (this.#heals.get(backend) === heal) this.#heals.delete(backend)
    }
  }

  /** False: this worker begins the session `key` itself. `done` with null: the other one is not there. */
  elsewhere(key: string, healing: Healing, headers: HeaderBlock, done: (outcome: Outcome | null) => void): boolean {
    const to = this.#bus.ownerOf(key)
    if (to === this.#bus.self) return false
    const events: LinkEvents = {
      message: () => undefined,
      failed: done,
      answered: (response) => done('result' in response ? (response.result as unknown as Healed) : null)
    }
    const fields = fieldsOf(headers)
    const word = (name: TurnName): Word => ({ kind: 'heal', to, fields, ...name, ...healing })
    this.#turns.send({ to, id: 0, events, waitMs: 0, word, lost: () => events.answered(GONE) })
    return true
  }

  #hear(word: Word): void {
    if (word.kind !== 'heal') return
    const heal = this.#heals.get(word.backend)
    const start = (events: LinkEvents): (() => void) | null => {
      if (heal === undefined) return null
      heal(word, headersOf(word.fields), (outcome) => {
        if ('kind' in outcome) events.failed(outcome)
        else events.answered({ jsonrpc: '2.0', id: 0, result: { ...outcome } })
      })
      return () => undefined
    }
    this.#turns.host(word, start, GONE)
  }
}

const GONE = faultOf(0, { code: -32603, message: 'nobody begins it' })
