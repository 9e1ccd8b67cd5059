/**
 * Requests that another worker serves because it owns the state they need; their events come back over the bus. Both
 * workers share the request's claim: either the server takes it or the sender gives it up, never both. So a request
 * that was given up is never served later, and none is served twice, however late a busy worker comes to it. When a
 * worker ends, its successor announces itself: requests that nobody had taken are sent again, those taken have failed.
 */
import { randomBytes } from 'node:crypto'
import type { RpcId, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { OnceEvents } from '#backends/mcp/targets/once-events.ts'
import { failure, type LinkEvents } from '#backends/mcp/targets/target.ts'
import { type Claim, newClaim, take, takerOf, withdraw } from '#engine/kit/claim.ts'
import type { Bus, BusMessage, RemoteBody, RemoteEvent } from './bus.ts'

/** A busy worker takes a request within this time, or never; milliseconds. */
export const CLAIM_MAX_MS = 30_000

interface Sent {
  readonly to: string
  readonly id: RpcId
  readonly events: OnceEvents
  readonly message: BusMessage
  readonly claim: Claim
}

export interface RemoteRequest {
  readonly to: string
  /** Of the client's request. */
  readonly id: RpcId
  readonly events: LinkEvents
  /** How long it may wait to be taken, milliseconds; 0: CLAIM_MAX_MS. */
  readonly waitMs: number
  readonly body: RemoteBody
  /** It has not been taken, and will not be. */
  readonly lost: (events: LinkEvents) => void
}

type BodyOf<K extends RemoteBody['kind']> = Extract<RemoteBody, { readonly kind: K }>

export class RemoteRequests {
  readonly #bus: Bus
  readonly #sent = new Map<string, Sent>()
  /** Requests that are served here: what cancels them. */
  readonly #served = new Map<string, () => void>()

  constructor(bus: Bus) {
    this.#bus = bus
    bus.subscribe((message) => this.#handle(message))
  }

  /** Returns what gives it up. No event comes before it has returned. */
  send({ to, id, events: receiver, waitMs, body, lost }: RemoteRequest): () => void {
    const request = randomBytes(16).toString('base64url')
    const claim = newClaim()
    const events = new OnceEvents(receiver, () => {
      clearTimeout(timer)
      this.#sent.delete(request)
    })
    const late = (): void => {
      if (withdraw(claim)) lost(events)
    }
    const longestMs = this.#bus.mayExist(to) ? CLAIM_MAX_MS : 0
    const timer = setTimeout(late, waitMs > 0 ? Math.min(waitMs, longestMs) : longestMs).unref()
    const message: BusMessage = { ...body, to, from: this.#bus.self, request, claim }
    this.#sent.set(request, { to, id, events, message, claim })
    this.#bus.publish(message)
    return () => {
      if (events.stop() !== null && !withdraw(claim)) this.#bus.publish({ kind: 'cancel', to, request })
    }
  }

  /**
   * Serves requests of one kind. `start` returns what cancels the request, or null where there is nothing to serve:
   * `unknown` is the answer to that.
   */
  serve<K extends RemoteBody['kind']>(
    kind: K,
    start: (body: BodyOf<K>, events: LinkEvents) => (() => void) | null,
    unknown: (body: BodyOf<K>) => RpcResponse
  ): void {
    this.#bus.subscribe((message) => {
      if (message.kind !== kind) return
      const { from, request, claim } = message as Extract<BusMessage, { readonly claim: Claim }>
      // Given up while this worker was busy, or sent again to it as a successor.
      if (!take(claim, this.#bus.incarnation)) return
      const body = message as unknown as BodyOf<K>
      const publish = (event: RemoteEvent): void => this.#bus.publish({ kind: 'event', to: from, request, event })
      const events = new OnceEvents(
        {
          message: (serverMessage) => publish({ kind: 'message', message: serverMessage }),
          answered: (response) => publish({ kind: 'answered', response }),
          failed: (why) => publish({ kind: 'failed', failure: why })
        },
        () => this.#served.delete(request)
      )
      const cancel = start(body, events)
      if (cancel === null) events.answered(unknown(body))
      else if (!events.isOver) this.#served.set(request, cancel)
    })
  }

  #handle(message: BusMessage): void {
    if (message.kind === 'event') this.#onEvent(message.request, message.event)
    else if (message.kind === 'cancel') {
      this.#served.get(message.request)?.()
      this.#served.delete(message.request)
    } else if (message.kind === 'started') this.#onSuccessor(message.self, message.incarnation)
  }

  #onEvent(request: string, event: RemoteEvent): void {
    const sent = this.#sent.get(request)
    if (sent === undefined) return
    if (event.kind === 'answered') sent.events.answered({ ...event.response, id: sent.id })
    else if (event.kind === 'failed') sent.events.failed(event.failure)
    else if ('method' in event.message) sent.events.message(event.message)
  }

  #onSuccessor(worker: string, incarnation: number): void {
    const gone = failure('broken', 'the worker with the session has ended: the request may have been carried out')
    for (const { to, events, message, claim } of [...this.#sent.values()]) {
      if (to !== worker) continue
      const taker = takerOf(claim)
      if (taker === null) this.#bus.publish(message)
      else if (taker !== incarnation) events.failed(gone)
    }
  }
}
