/**
 * Requests that another worker carries out, because it holds what they are about: each is one turn, whose events come
 * back over the bus. A worker that has ended answers nothing more; its successor says so to all.
 */
import { randomBytes } from 'node:crypto'
import type { RpcId, RpcResponse } from '#backends/mcp/rpc.ts'
import type { LinkEvents } from '#backends/mcp/target.ts'
import type { Bus, TurnEvent, Word } from './bus.ts'
import { failure, Told, withId } from './events.ts'

/** The other worker says within this time that it has the request; milliseconds. */
const TAKEN_MS = 2_000

interface Sent {
  readonly to: string
  readonly told: Told
  isTaken: boolean
  readonly hear: (event: TurnEvent) => void
}

export interface Turn {
  readonly to: string
  /** Of the client's request. */
  readonly id: RpcId
  readonly events: LinkEvents
  readonly word: (turn: string) => Word
  /** Nobody has taken it. */
  readonly lost: (events: LinkEvents) => void
}

export class Turns {
  readonly #bus: Bus
  /** By turn: those that other workers carry out, and what gives up those that this one does. */
  readonly #sent = new Map<string, Sent>()
  readonly #guests = new Map<string, () => void>()

  constructor(bus: Bus) {
    this.#bus = bus
    bus.listen((word) => this.#hear(word))
  }

  /** Returns what gives it up. */
  send({ to, id, events, word, lost }: Turn): () => void {
    const turn = randomBytes(16).toString('base64url')
    const told = new Told(events, () => {
      clearTimeout(timer)
      this.#sent.delete(turn)
    })
    const timer = setTimeout(() => lost(told), TAKEN_MS).unref()
    const hear = (event: TurnEvent): void => {
      if (event.kind === 'taken') {
        sent.isTaken = true
        clearTimeout(timer)
      } else if (event.kind === 'answered') told.answered(withId(event.response, id))
      else if (event.kind === 'failed') told.failed(event.failure)
      else if ('method' in event.message) told.message(event.message)
    }
    const sent: Sent = { to, told, isTaken: false, hear }
    this.#sent.set(turn, sent)
    this.#bus.tell(word(turn))
    return () => {
      if (told.stop() !== null) this.#bus.tell({ kind: 'dismiss', to, turn })
    }
  }

  /** Carries out what another worker wants. `start`: null where there is nothing to carry out. */
  host(turn: string, from: string, start: (events: LinkEvents) => (() => void) | null, unknown: RpcResponse): void {
    const tell = (event: TurnEvent): void => this.#bus.tell({ kind: 'turn', to: from, turn, event })
    tell({ kind: 'taken' })
    const told = new Told(
      {
        message: (message) => tell({ kind: 'message', message }),
        answered: (response) => tell({ kind: 'answered', response }),
        failed: (why) => tell({ kind: 'failed', failure: why })
      },
      () => this.#guests.delete(turn)
    )
    const leave = start(told)
    if (leave === null) told.answered(unknown)
    else if (!told.isOver) this.#guests.set(turn, leave)
  }

  #hear(word: Word): void {
    if (word.kind === 'turn') this.#sent.get(word.turn)?.hear(word.event)
    else if (word.kind === 'dismiss') {
      this.#guests.get(word.turn)?.()
      this.#guests.delete(word.turn)
    } else if (word.kind === 'born') {
      // In the place of one that has ended, with all that it had taken.
      const gone = failure('broken', 'the worker that had the session has ended')
      for (const { to, isTaken, told } of [...this.#sent.values()]) if (to === word.self && isTaken) told.failed(gone)
    }
  }
}
