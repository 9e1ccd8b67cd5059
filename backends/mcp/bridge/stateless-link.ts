/** A link for stateless requests: as they are to stateless servers, in sessions of the gateway to stateful ones. */

import { capabilityBits, lacksCapability } from '#backends/mcp/protocol/capabilities.ts'
import { flatten } from '#backends/mcp/protocol/flat-headers.ts'
import {
  errorResponse,
  METHOD_NOT_FOUND,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { type Era, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { META_VERSION, metaOf, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import { deadline } from '#backends/mcp/targets/deadline.ts'
import { OnceEvents } from '#backends/mcp/targets/once-events.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { EraCache } from './era-probe.ts'
import { takesAnyInput } from './input-requests.ts'
import type { OwnerRequests } from './owner-requests.ts'
import type { PendingCalls } from './pending-calls.ts'
import { type CallOwnerEvents, StatefulCall } from './stateful-call.ts'
import { discoverFor, readDiscoverResult, statelessRequest } from './stateful-client.ts'
import { type ClientMeta, clientMetaOf, discovery } from './stateless-client.ts'
import { Subscription } from './subscription.ts'
import type { PoolRequest, UpstreamPool } from './upstream-pool.ts'

const BEGIN_MS = 30_000

/** What the links of one target share. */
export interface StatelessParts {
  readonly raw: Target
  readonly eras: EraCache
  /** Name of the backend. */
  readonly backend: string
  readonly pool: UpstreamPool
  readonly ownerRequests: OwnerRequests
  readonly pendingCalls: PendingCalls
  readonly seal: Seal
}

export class StatelessLink implements Link {
  readonly upstreamSession = null
  readonly #parts: StatelessParts
  readonly #options: LinkOptions

  constructor(parts: StatelessParts, options: LinkOptions) {
    this.#parts = parts
    this.#options = options
  }

  forRequest(headers: HeaderBlock): Link {
    return new StatelessLink(this.#parts, { ...this.#options, headers })
  }

  setVersion(): void {}

  request(request: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const message = this.#withClientMeta(request)
    let isOver = false
    let leave = (): void => undefined
    const leftMs = deadline(timeoutMs)
    // No event comes before this returns.
    queueMicrotask(() => {
      if (isOver) return
      const { eras } = this.#parts
      const go = (era: Era | LinkFailure): void => {
        if (isOver) return
        if (era === 'stateless') leave = this.#checked(message, events, leftMs(), json)
        else if (era === 'stateful') leave = this.#bridged(message, events, leftMs())
        else events.failed(era)
      }
      const { known } = eras
      if (known !== null) go(known)
      else leave = eras.probe(this.#parts.raw, this.#options, beginMs(timeoutMs), go)
    })
    return () => {
      isOver = true
      leave()
    }
  }

  /** Requests of the gateway itself are sent in the name of the client. */
  #withClientMeta(message: RpcRequest): RpcRequest {
    if (META_VERSION in metaOf(message.params)) return message
    const { info, capabilities } = this.#options.client ?? { info: { name: 'weir', version: '0' }, capabilities: {} }
    return statelessRequest(message, { clientInfo: info, capabilities }, null)
  }

  /**
   * Capabilities that the server declared to another caller are only a guess. If they lack what the method needs, the
   * caller's own discovery decides: some servers answer what they lack with any error, or not at all.
   */
  #checked(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const { method, id } = message
    if (!lacksCapability(this.#parts.eras.capabilities, method)) return this.#direct(message, events, timeoutMs, json)
    const { clientInfo, capabilities } = clientMetaOf(message)
    const leftMs = deadline(timeoutMs)
    let leave = (): void => undefined
    const answered: LinkEvents['answered'] = (response) => {
      const facts = 'result' in response ? readDiscoverResult(response.result, '') : null
      if (facts !== null && lacksCapability(capabilityBits(facts.capabilities), method))
        events.answered(unknownMethod(id, method))
      else leave = this.#direct(message, events, leftMs(), json)
    }
    const question = discoverFor({ clientInfo: clientInfo ?? { name: 'weir', version: '1' }, capabilities }, 'weir-own')
    const discovery = { message: () => undefined, answered, failed: (why: LinkFailure) => events.failed(why) }
    leave = this.#direct(question, discovery, timeoutMs)
    return () => leave()
  }

  #direct(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const link = this.#parts.raw.open({ ...this.#options, upstreamSession: null, version: STATELESS })
    const { answeredBytes } = events
    const direct: LinkEvents = {
      // Servers of this era must not send requests, and there is no client to answer them.
      message: (serverMessage, eventId) => {
        if (!('id' in serverMessage)) events.message(serverMessage, eventId)
      },
      answered: (response) => {
        link.release()
        events.answered(response)
      },
      failed: (why) => {
        link.release()
        if (why.kind === 'refused') this.#parts.eras.forget()
        events.failed(why)
      }
    }
    if (answeredBytes !== undefined) {
      direct.answeredBytes = (bytes) => {
        link.release()
        answeredBytes.call(events, bytes)
      }
    }
    const leave = link.request(message, direct, timeoutMs, json)
    return () => {
      leave()
      link.release()
    }
  }

  #bridged(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { ownerRequests, backend, raw } = this.#parts
    const { sessionKey, headers, isAnonymous, party = '' } = this.#options
    const owner = isAnonymous === true ? null : ownerRequests.ownerOf(sessionKey)
    if (owner === null) return this.execute(message, events, timeoutMs)
    const flat = flatten(headers)
    const request = { backend, target: raw.name, sessionKey, party, headers: flat, message, timeoutMs }
    return ownerRequests.send(owner, request, events)
  }

  /** In the worker that owns the sessions of this caller. */
  execute(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { pendingCalls, seal } = this.#parts
    const client = clientMetaOf(message)
    if (message.method === 'server/discover') return this.#discover(message, client, events, timeoutMs)
    if (message.method === 'subscriptions/listen') return this.#subscribe(message, client, events, timeoutMs)
    // Tasks are something else in each era: none are offered, so none exist.
    if (STATELESS_METHODS.get(message.method)?.owner === 'task') {
      events.answered(unknownMethod(message.id, message.method))
      return () => undefined
    }
    const asksBack = STATELESS_METHODS.get(message.method)?.asksBack === true
    if (asksBack && message.params?.requestState !== undefined)
      return pendingCalls.retry(message, this.#options.sessionKey, seal, events, timeoutMs)
    return this.#call(message, client, events, timeoutMs, true)
  }

  #poolRequest({ method }: RpcRequest, client: ClientMeta, timeoutMs: number, needsStream: boolean): PoolRequest {
    const { raw } = this.#parts
    return { raw, options: this.#options, client, timeoutMs: beginMs(timeoutMs), method, needsStream }
  }

  #discover(message: RpcRequest, client: ClientMeta, events: LinkEvents, timeoutMs: number): () => void {
    const { pool } = this.#parts
    return pool.acquire(this.#poolRequest(message, client, timeoutMs, false), (session) => {
      if ('kind' in session) {
        this.#noSession(session, events)
        return
      }
      pool.release(session)
      events.answered({ jsonrpc: '2.0', id: message.id, result: discovery(session.facts) })
    })
  }

  #subscribe(message: RpcRequest, client: ClientMeta, events: LinkEvents, timeoutMs: number): () => void {
    const { pool, raw } = this.#parts
    let end = (): void => undefined
    const once = new OnceEvents(events, () => end())
    const subscription = new Subscription(message, once)
    const giveUp = pool.acquire(this.#poolRequest(message, client, timeoutMs, true), (session) => {
      if ('kind' in session) {
        this.#noSession(session, once)
        return
      }
      const link = session.linkFor(raw, this.#options.headers)
      const release = session.addListener(subscription)
      end = () => {
        release()
        subscription.end(link)
        link.release()
        pool.release(session)
      }
      subscription.begin(session, link, beginMs(timeoutMs))
    })
    return () => {
      giveUp()
      once.stop()
    }
  }

  /** A server that refuses a session may have become a stateless one. */
  #noSession(why: LinkFailure, events: Pick<LinkEvents, 'failed'>): void {
    if (why.kind === 'refused') this.#parts.eras.forget()
    events.failed(why)
  }

  /** `isFirst`: if the session has expired, a new one is begun, once. */
  #call(message: RpcRequest, client: ClientMeta, events: LinkEvents, timeoutMs: number, isFirst: boolean): () => void {
    const { pool, pendingCalls, seal, raw } = this.#parts
    const { sessionKey: owner, party = '' } = this.#options
    const mayAsk = STATELESS_METHODS.get(message.method)?.asksBack === true && takesAnyInput(client.capabilities)
    const needsStream = mayAsk || client.logLevel !== null
    let isOver = false
    let leave = pool.acquire(this.#poolRequest(message, client, timeoutMs, needsStream), (session) => {
      if ('kind' in session) {
        events.failed(session)
        return
      }
      if (lacksCapability(capabilityBits(session.facts.capabilities), message.method)) {
        pool.release(session)
        events.answered(unknownMethod(message.id, message.method))
        return
      }
      let release = (): void => undefined
      const keeper: CallOwnerEvents = {
        suspend: (call) => pendingCalls.add(call, { owner, party }, message, seal),
        ended: (call) => {
          release()
          pendingCalls.remove(call)
          pool.release(session)
        }
      }
      const call = new StatefulCall(message, client, session, session.linkFor(raw, this.#options.headers), keeper)
      if (needsStream) release = session.addListener(call)
      const attempt: LinkEvents = {
        message: (serverMessage) => events.message(serverMessage),
        answered: (response) => events.answered(response),
        failed: (why) => {
          if (why.kind === 'expired') pool.discard(session)
          if (why.kind !== 'expired') events.failed(why)
          else if (!isFirst || isOver) events.failed({ ...why, kind: 'broken' })
          else leave = this.#call(message, client, events, timeoutMs, false)
        }
      }
      leave = call.begin(attempt, timeoutMs)
    })
    return () => {
      isOver = true
      leave()
    }
  }

  /** Stateless clients send only requests: closing the stream cancels one. */
  async send(_message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    return null
  }

  /** This era has no such stream. */
  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    queueMicrotask(() => events.ended(null))
    return () => undefined
  }

  close(): void {}

  release(): void {}
}

const unknownMethod = (id: RpcId, method: string): RpcResponse =>
  errorResponse(id, METHOD_NOT_FOUND, `Method not found: ${method}`)

/** Timeout of what precedes a request without a timeout. */
function beginMs(timeoutMs: number): number {
  return timeoutMs > 0 ? timeoutMs : BEGIN_MS
}
