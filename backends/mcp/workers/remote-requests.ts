/**
 * Requests that another worker carries out, because it holds what they are about: each is one turn, whose events come
 * back over the bus. Whose a turn is stands in its claim, which both workers share: one takes it, or who has asked
 * gives it up, and never both. So what is given up is never begun later, and nothing is done twice, however late a
 * worker comes to what it was told. A worker that has ended answers nothing more; its successor says so to all, is
 * told what nobody has taken, and what was taken has failed.
 */
import { randomBytes } from 'node:crypto'
import { failure, Told, withId } from '#backends/mcp/bridge/link-events.ts'
import type { RpcId, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import { type Claim, giveUp, newClaim, take, takerOf } from '#engine/kit/claim.ts'
import type { Bus, TurnEvent, TurnName, Word } from './bus.ts'

/** A worker that is busy takes it within this time; milliseconds. What it cannot take so long, it may never. */
export const TAKE_MAX_MS = 30_000

interface Sent {
  readonly to: string
  readonly told: Told
  readonly word: Word
  readonly claim: Claim
  readonly hear: (event: TurnEvent) => void
}

export interface Turn {
  readonly to: string
  /** Of the client's request. */
  readonly id: RpcId
  readonly events: LinkEvents
  /** How long it may wait to be taken, milliseconds; 0: as long as any. */
  readonly waitMs: number
  readonly word: (name: TurnName) => Word
  /** Nobody has taken it, and nobody will. */
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

  /** Returns what gives it up. Nothing is told before it has returned. */
  send({ to, id, events, waitMs, word: wordOf, lost }: Turn): () => void {
    const turn = randomBytes(16).toString('base64url')
    const claim = newClaim()
    const told = new Told(events, () => {
      clearTimeout(timer)
      this.#sent.delete(turn)
    })
    const late = (): void => {
      if (giveUp(claim)) lost(told)
    }
    const longestMs = this.#bus.mayKnow(to) ? TAKE_MAX_MS : 0
    const timer = setTimeout(late, waitMs > 0 ? Math.min(waitMs, longestMs) : longestMs).unref()
    const hear = (event: TurnEvent): void => {
      if (event.kind === 'answered') told.answered(withId(event.response, id))
      else if (event.kind === 'failed') told.failed(event.failure)
      else if ('method' in event.message) told.message(event.message)
    }
    const word = wordOf({ from: this.#bus.self, turn, claim })
    this.#sent.set(turn, { to, told, word, claim, hear })
    this.#bus.tell(word)
    return () => {
      if (told.stop() !== null && !giveUp(claim)) this.#bus.tell({ kind: 'dismiss', to, turn })
    }
  }

  /** Carries out what another worker wants. `start`: null where there is nothing to carry out. */
  host(
    { from, turn, claim }: TurnName,
    start: (events: LinkEvents) => (() => void) | null,
    unknown: RpcResponse
  ): void {
    // Given up while this worker was busy, or told again to it as the successor of one that has ended.
    if (!take(claim, this.#bus.life)) return
    const tell = (event: TurnEvent): void => this.#bus.tell({ kind: 'turn', to: from, turn, event })
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
    } else if (word.kind === 'born') this.#succeeded(word.self, word.life)
  }

  /** `life` has come in the place of a worker that has ended. */
  #succeeded(worker: string, life: number): void {
    const gone = failure('broken', 'the worker with the session has ended: the request may have been carried out')
    for (const { to, told, word, claim } of [...this.#sent.values()]) {
      if (to !== worker) continue
      const taker = takerOf(claim)
      if (taker === null) this.#bus.tell(word)
      else if (taker !== life) told.failed(gone)
    }
  }
}
