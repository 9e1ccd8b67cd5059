/**
 * The GET stream of a stateful client -> `subscriptions/listen` of a stateless server. A subscription cannot be
 * changed: when the session subscribes to another resource a new one is opened, and the old one is closed once that is
 * open.
 */

import type { RpcNotification, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { failure, type Link, type LinkFailure, type ListenEvents } from '#backends/mcp/targets/target.ts'
import type { SessionStates } from './session-state.ts'
import { type ClientIdentity, listenFor, statelessRequest, withoutSubscriptionId } from './stateful-client.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** The server leaves out lists that never change. */
const ALL_LISTS = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } }

interface Stream {
  readonly leave: () => void
}

export class GetStreamBridge {
  readonly #states: SessionStates
  readonly #key: string
  readonly #client: ClientIdentity
  readonly #open: () => Link
  readonly #events: ListenEvents
  #unwatch: () => void = () => undefined
  /** The one whose notifications are passed on, and its replacement. */
  #current: Stream | null = null
  #next: Stream | null = null
  #isOver = false
  #isAcknowledged = false
  #lastId = 0

  constructor(states: SessionStates, key: string, client: ClientIdentity, open: () => Link, events: ListenEvents) {
    this.#states = states
    this.#key = key
    this.#client = client
    this.#open = open
    this.#events = events
  }

  begin(): () => void {
    this.#unwatch = this.#states.watch(this.#key, () => this.#resubscribe())
    this.#resubscribe()
    return () => this.#end()
  }

  #resubscribe(): void {
    if (this.#isOver) return
    this.#next?.leave()
    const notifications = listenFor(ALL_LISTS, this.#states.uris(this.#key))
    const id = `weir-listen-${++this.#lastId}`
    const request: RpcRequest = { jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications } }
    const link = this.#open()
    const stop = link.request(
      statelessRequest(request, this.#client, null),
      {
        message: (serverMessage) => this.#onMessage(serverMessage, stream),
        answered: (response) => this.#onEnd(stream, 'error' in response ? NO_STREAM : null),
        failed: (why) => this.#onEnd(stream, why)
      },
      0
    )
    const stream: Stream = {
      leave: () => {
        stop()
        link.release()
      }
    }
    this.#next = stream
  }

  #onMessage(serverMessage: RpcRequest | RpcNotification, stream: Stream): void {
    if (this.#isOver || 'id' in serverMessage) return
    if (serverMessage.method === ACKNOWLEDGED) {
      if (stream !== this.#next) return
      this.#current?.leave()
      this.#current = stream
      this.#next = null
      if (!this.#isAcknowledged) this.#events.opened?.()
      this.#isAcknowledged = true
    } else if (stream === this.#current) this.#events.message(withoutSubscriptionId(serverMessage), null)
  }

  /** `NO_STREAM`: the server does not know the method, or this client may not listen. */
  #onEnd(stream: Stream, why: LinkFailure | null): void {
    if (this.#isOver || (stream !== this.#current && stream !== this.#next)) return
    const isWithout = why === NO_STREAM && !this.#isAcknowledged
    this.#end()
    this.#events.ended(isWithout ? null : (why ?? failure('broken', 'the server has ended the subscription')))
  }

  #end(): void {
    this.#isOver = true
    this.#unwatch()
    this.#current?.leave()
    this.#next?.leave()
  }
}

const NO_STREAM = failure('refused', 'the server has no such stream')
