/**
 * `subscriptions/listen` of a stateless client -> resources/subscribe and the GET stream of a stateful server
 * (2026-07-28, basic/patterns/subscriptions; 2025-11-25, server/resources, Subscriptions).
 */

import { isObject, type JsonObject, type RpcNotification, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { META_SUBSCRIPTION } from '#backends/mcp/protocol/stateless.ts'
import type { Link, LinkEvents } from '#backends/mcp/targets/target.ts'
import { honouredFilter, ofSubscription, passesFilter, statelessResult } from './stateless-client.ts'
import type { SessionListener, UpstreamSession } from './upstream-session.ts'
/** Resources of one subscription: more are not honoured, and the acknowledgment says so. */
export const RESOURCES_MAX = 256

const UNSUBSCRIBE_MS = 10_000

type SubscriptionMethod = 'resources/subscribe' | 'resources/unsubscribe'

const requesterOf =
  (session: UpstreamSession, link: Link, method: SubscriptionMethod, uri: string, timeoutMs: number) =>
  (done: (agreed: boolean) => void): void => {
    const events: LinkEvents = {
      message: () => undefined,
      answered: (response) => done('result' in response),
      failed: () => done(false)
    }
    link.request({ jsonrpc: '2.0', id: session.nextId(), method, params: { uri } }, events, timeoutMs)
  }

export class Subscription implements SessionListener {
  readonly #message: RpcRequest
  readonly #events: LinkEvents
  #filter: JsonObject | null = null
  #session: UpstreamSession | null = null
  readonly #subscribed: string[] = []
  readonly acceptsRequests = false

  constructor(message: RpcRequest, events: LinkEvents) {
    this.#message = message
    this.#events = events
  }

  /** Subscribes to each resource; acknowledges what the server has agreed to. */
  begin(session: UpstreamSession, link: Link, timeoutMs: number): void {
    this.#session = session
    const requested = this.#message.params?.notifications
    const filter = honouredFilter(isObject(requested) ? requested : {}, session.facts.capabilities)
    const uris = Array.isArray(filter.resourceSubscriptions) ? filter.resourceSubscriptions.slice(0, RESOURCES_MAX) : []
    const agreed = new Set<string>()
    let missing = uris.length
    const done = (): void => {
      if (missing-- > 0) return
      const honoured = { ...filter }
      const { resourceSubscriptions: _, ...lists } = honoured
      this.#acknowledge(agreed.size === 0 ? lists : { ...lists, resourceSubscriptions: [...agreed] })
    }
    for (const uri of uris) {
      if (typeof uri !== 'string') continue
      this.#subscribed.push(uri)
      const subscribe = requesterOf(session, link, 'resources/subscribe', uri, timeoutMs)
      session.subscriptions.subscribe(uri, subscribe, (isAgreed) => {
        if (isAgreed) agreed.add(uri)
        else this.#subscribed.splice(this.#subscribed.indexOf(uri), 1)
        done()
      })
    }
    done()
  }

  /** The session goes on without it. */
  end(link: Link): void {
    const session = this.#session
    if (session === null) return
    for (const uri of this.#subscribed.splice(0))
      session.subscriptions.unsubscribe(uri, requesterOf(session, link, 'resources/unsubscribe', uri, UNSUBSCRIBE_MS))
  }

  #acknowledge(filter: JsonObject): void {
    this.#filter = filter
    const params = { notifications: filter }
    this.#notify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
  }

  onMessage(message: RpcRequest | RpcNotification): void {
    if (!('id' in message) && this.#filter !== null && passesFilter(message, this.#filter)) this.#notify(message)
  }

  #notify(notification: RpcNotification): void {
    this.#events.message(ofSubscription(notification, this.#message.id))
  }

  /** The subscription ends in order, and the client may begin another one. */
  onStreamEnd(): void {
    const { id } = this.#message
    const facts = this.#session?.facts
    if (facts === undefined) return
    const result = statelessResult('subscriptions/listen', { _meta: { [META_SUBSCRIPTION]: id } }, facts)
    this.#events.answered({ jsonrpc: '2.0', id, result })
  }
}
