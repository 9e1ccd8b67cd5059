/** A link for stateless requests, whatever era the server is of: as they are, or in sessions that the gateway keeps. */

import { declaredBy, lacks } from '#backends/mcp/protocol/capabilities.ts'
import {
  METHOD_NOT_FOUND,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { type Era, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { META_VERSION, metaOf, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import type { Seal } from '#backends/mcp/session/seal.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import type { Eras } from './era-probe.ts'
import { takesAnyInput } from './input-requests.ts'
import { faultOf, Told } from './link-events.ts'
import { type Errands, fieldsOf } from './owner-requests.ts'
import type { HeldCalls } from './pending-calls.ts'
import { type Keeper, StatefulCall } from './stateful-call.ts'
import { discoverFor, factsOf, statelessRequest } from './stateful-client.ts'
import { type Claim, claimOf, discovery } from './stateless-client.ts'
import { Subscription } from './subscription.ts'
import type { Asked, UpstreamPool } from './upstream-pool.ts'

const BEGIN_MS = 30_000

/** What the links of one target share. */
export interface StatelessParts {
  readonly raw: Target
  readonly eras: Eras
  /** Name of the backend. */
  readonly backend: string
  readonly pool: UpstreamPool
  readonly errands: Errands
  readonly held: HeldCalls
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

  setVersion(): void {}

  request(given: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const message = this.#claimed(given)
    let isOver = false
    let leave = (): void => undefined
    const endsAt = performance.now() + timeoutMs
    // Nothing is told before this returns.
    queueMicrotask(() => {
      if (isOver) return
      const { eras } = this.#parts
      const go = (era: Era | LinkFailure): void => {
        if (isOver) return
        const leftMs = timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(endsAt - performance.now()))
        if (era === 'stateless') leave = this.#checked(message, events, leftMs, json)
        else if (era === 'stateful') leave = this.#bridged(message, events, leftMs)
        else events.failed(era)
      }
      const { known } = eras
      if (known !== null) go(known)
      else leave = eras.learn(this.#parts.raw, this.#options, beginMs(timeoutMs), go)
    })
    return () => {
      isOver = true
      leave()
    }
  }

  /** What the gateway asks by itself is asked in the name of the client. */
  #claimed(message: RpcRequest): RpcRequest {
    if (META_VERSION in metaOf(message.params)) return message
    const { info, capabilities } = this.#options.client ?? { info: { name: 'weir', version: '0' }, capabilities: {} }
    return statelessRequest(message, { clientInfo: info, capabilities }, null)
  }

  /**
   * What the server has declared to another caller is a guess about this one. Where that has nothing of the kind, its
   * own discovery decides: some servers answer what they do not have with errors of all sorts, or with nothing.
   */
  #checked(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const { method, id } = message
    if (!lacks(this.#parts.eras.declared, method)) return this.#direct(message, events, timeoutMs, json)
    const { clientInfo, capabilities } = claimOf(message)
    const endsAt = performance.now() + timeoutMs
    let leave = (): void => undefined
    const answered: LinkEvents['answered'] = (response) => {
      const facts = 'result' in response ? factsOf(response.result, '') : null
      const leftMs = timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(endsAt - performance.now()))
      if (facts !== null && lacks(declaredBy(facts.capabilities), method)) events.answered(unknownMethod(id, method))
      else leave = this.#direct(message, events, leftMs, json)
    }
    const question = discoverFor({ clientInfo: clientInfo ?? { name: 'weir', version: '1' }, capabilities }, 'weir-own')
    const heard = { message: () => undefined, answered, failed: (why: LinkFailure) => events.failed(why) }
    leave = this.#direct(question, heard, timeoutMs)
    return () => leave()
  }

  #direct(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const link = this.#parts.raw.open({ ...this.#options, upstreamSession: null, version: STATELESS })
    const { answeredBytes } = events
    const heard: LinkEvents = {
      // Requests of their own are forbidden to servers of this era; there is nobody who could answer.
      message: (said, eventId) => {
        if (!('id' in said)) events.message(said, eventId)
      },
      answered: (response) => {
        link.release()
        events.answered(response)
      },
      failed: (failure) => {
        link.release()
        if (failure.kind === 'refused') this.#parts.eras.forget()
        events.failed(failure)
      }
    }
    if (answeredBytes !== undefined) {
      heard.answeredBytes = (bytes) => {
        link.release()
        answeredBytes.call(events, bytes)
      }
    }
    const leave = link.request(message, heard, timeoutMs, json)
    return () => {
      leave()
      link.release()
    }
  }

  #bridged(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { errands, backend, raw } = this.#parts
    const { sessionKey, headers, isAnonymous, party = '' } = this.#options
    const owner = isAnonymous === true ? null : errands.toOwner(sessionKey)
    if (owner === null) return this.carryOut(message, events, timeoutMs)
    const fields = fieldsOf(headers)
    const errand = { backend, target: raw.name, sessionKey, party, fields, message, timeoutMs }
    return errands.send(owner, errand, events)
  }

  /** In the worker that has the sessions of this caller. */
  carryOut(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { held, seal } = this.#parts
    const claim = claimOf(message)
    if (message.method === 'server/discover') return this.#discover(message, claim, events, timeoutMs)
    if (message.method === 'subscriptions/listen') return this.#subscribe(message, claim, events, timeoutMs)
    // What clients of this era call tasks is not what servers of the other one do: none are offered, none exist.
    if (STATELESS_METHODS.get(message.method)?.owner === 'task') {
      events.answered(unknownMethod(message.id, message.method))
      return () => undefined
    }
    const asksBack = STATELESS_METHODS.get(message.method)?.asksBack === true
    if (asksBack && message.params?.requestState !== undefined)
      return held.retry(message, this.#options.sessionKey, seal, events, timeoutMs)
    return this.#call(message, claim, events, timeoutMs, true)
  }

  #asked({ method }: RpcRequest, claim: Claim, timeoutMs: number, hears: boolean): Asked {
    const { raw } = this.#parts
    return { raw, options: this.#options, claim, timeoutMs: beginMs(timeoutMs), method, hears }
  }

  #discover(message: RpcRequest, claim: Claim, events: LinkEvents, timeoutMs: number): () => void {
    const { pool } = this.#parts
    return pool.take(this.#asked(message, claim, timeoutMs, false), (session) => {
      if ('kind' in session) {
        this.#cannot(session, events)
        return
      }
      pool.free(session)
      events.answered({ jsonrpc: '2.0', id: message.id, result: discovery(session.facts) })
    })
  }

  #subscribe(message: RpcRequest, claim: Claim, events: LinkEvents, timeoutMs: number): () => void {
    const { pool, raw } = this.#parts
    let end = (): void => undefined
    const told = new Told(events, () => end())
    const subscription = new Subscription(message, told)
    const giveUp = pool.take(this.#asked(message, claim, timeoutMs, true), (session) => {
      if ('kind' in session) {
        this.#cannot(session, told)
        return
      }
      const link = session.linkFor(raw, this.#options.headers)
      const release = session.hold(subscription)
      end = () => {
        release()
        subscription.end(link)
        link.release()
        pool.free(session)
      }
      subscription.begin(session, link, beginMs(timeoutMs))
    })
    return () => {
      giveUp()
      told.stop()
    }
  }

  /** There is no session. A server that refuses one may have become one of the new era. */
  #cannot(failure: LinkFailure, events: Pick<LinkEvents, 'failed'>): void {
    if (failure.kind === 'refused') this.#parts.eras.forget()
    events.failed(failure)
  }

  /** `isFirst`: a session that has expired meanwhile is made anew, once. */
  #call(message: RpcRequest, claim: Claim, events: LinkEvents, timeoutMs: number, isFirst: boolean): () => void {
    const { pool, held, seal, raw } = this.#parts
    const { sessionKey: owner, party = '' } = this.#options
    const mayAsk = STATELESS_METHODS.get(message.method)?.asksBack === true && takesAnyInput(claim.capabilities)
    const hears = mayAsk || claim.logLevel !== null
    let isOver = false
    let leave = pool.take(this.#asked(message, claim, timeoutMs, hears), (session) => {
      if ('kind' in session) {
        events.failed(session)
        return
      }
      if (lacks(declaredBy(session.facts.capabilities), message.method)) {
        pool.free(session)
        events.answered(unknownMethod(message.id, message.method))
        return
      }
      let release = (): void => undefined
      const keeper: Keeper = {
        hold: (call) => held.hold(call, { owner, party }, message, seal),
        over: (call) => {
          release()
          held.over(call)
          pool.free(session)
        }
      }
      const call = new StatefulCall(message, claim, session, session.linkFor(raw, this.#options.headers), keeper)
      if (hears) release = session.hold(call)
      const again = (failure: LinkFailure): void => {
        if (failure.kind === 'expired') pool.lose(session)
        if (failure.kind !== 'expired') events.failed(failure)
        else if (!isFirst || isOver) events.failed({ ...failure, kind: 'broken' })
        else leave = this.#call(message, claim, events, timeoutMs, false)
      }
      const heard: LinkEvents = {
        message: (said) => events.message(said),
        answered: (response) => events.answered(response),
        failed: again
      }
      leave = call.begin(heard, timeoutMs)
    })
    return () => {
      isOver = true
      leave()
    }
  }

  /** Stateless clients say nothing besides requests: a stream that is closed is a request that is cancelled. */
  async send(_message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    return null
  }

  /** There is no such stream in this era. */
  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    queueMicrotask(() => events.ended(null))
    return () => undefined
  }

  close(): void {}

  release(): void {}
}

const unknownMethod = (id: RpcId, method: string): RpcResponse =>
  faultOf(id, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })

/** Of what goes before a request that may take however long it likes. */
function beginMs(timeoutMs: number): number {
  return timeoutMs > 0 ? timeoutMs : BEGIN_MS
}
