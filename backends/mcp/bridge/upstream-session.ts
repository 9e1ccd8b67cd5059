/**
 * One session with a stateful server, made by the gateway in the name of a stateless caller. Requests get ids of the
 * session. What the server says outside of any request is told to all that listen; what it asks there can only be of
 * one that may be asked, and all of them are of this caller.
 */

import {
  INTERNAL_ERROR,
  type JsonObject,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { eraOf } from '#backends/mcp/protocol/revisions.ts'
import { isObject } from '#backends/mcp/protocol/stateless.ts'
import type { Link, LinkFailure, LinkOptions, ServerFacts, Target } from '#backends/mcp/targets/target.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { failure, faultOf } from './link-events.ts'
import { Following } from './resource-subscriptions.ts'
import { type Claim, initializeFor } from './stateless-client.ts'

/**
 * A call waits for the stream of unasked messages to open, since servers lose what nobody listens to. Some servers send
 * no head before the first message: for those it waits twice as long as the handshake took, within these milliseconds.
 */
const LISTEN_WAIT_MIN_MS = 50
const LISTEN_WAIT_MAX_MS = 1000

/** Hears what the server says outside of any request. */
export interface Holder {
  heard(message: RpcRequest | RpcNotification): void
  /** Whether its client can be asked something. */
  readonly mayBeAsked: boolean
  /** The stream of unasked messages has ended. */
  deaf?(): void
}

export class UpstreamSession {
  readonly #kind: Target['kind']
  readonly #link: Link
  readonly #name: string
  /** LinkOptions.party. */
  readonly party: string
  facts: ServerFacts = { protocolVersion: '', capabilities: {}, serverInfo: {}, instructions: null }
  readonly #holders = new Set<Holder>()
  /** Requests under way. */
  users = 0
  usedAt = 0
  logLevel: string | null = null
  isOver = false
  #lastId = 0
  #listenWaitMs = LISTEN_WAIT_MAX_MS
  #stopListening: (() => void) | null = null
  /** Who waits for the stream to open; null: nobody has to. */
  #opening: (() => void)[] | null = null
  readonly following = new Following()

  constructor(raw: Target, name: string, { headers, party }: LinkOptions) {
    this.#kind = raw.kind
    this.#name = name
    this.party = party ?? ''
    this.#link = raw.open({ sessionKey: name, upstreamSession: null, version: null, headers, party: this.party })
  }

  /** The handshake (2025-11-25, basic/lifecycle). */
  begin(claim: Claim, timeoutMs: number, done: (failure: LinkFailure | null) => void): () => void {
    const initialize = initializeFor(claim, this.nextId())
    const begunAt = performance.now()
    return this.#link.request(
      initialize,
      {
        message: () => undefined,
        failed: done,
        answered: (response) => {
          const facts = 'result' in response ? factsOf(response.result) : null
          if (facts === null) {
            const why = 'error' in response ? response.error.message.slice(0, 200) : 'its answer is no handshake'
            return done(failure('refused', `the server refused to begin a session: ${why}`))
          }
          this.facts = facts
          const tookMs = performance.now() - begunAt
          this.#listenWaitMs = Math.min(LISTEN_WAIT_MAX_MS, Math.max(LISTEN_WAIT_MIN_MS, 2 * tookMs))
          this.#link.setVersion(facts.protocolVersion)
          void this.#link.send({ jsonrpc: '2.0', method: 'notifications/initialized' }).then(done)
        }
      },
      timeoutMs
    )
  }

  /** The server has given it a name. */
  get hasId(): boolean {
    return this.#link.upstreamSession !== null
  }

  nextId(): number {
    return ++this.#lastId
  }

  /**
   * A link with the fields of one request, to the target as the configuration of that request has it. Whoever asks for
   * it releases it.
   */
  linkFor(raw: Target, headers: HeaderBlock): Link {
    if (this.#kind !== 'http') return borrowed(this.#link)
    const { upstreamSession } = this.#link
    return raw.open({ sessionKey: this.#name, upstreamSession, version: this.facts.protocolVersion, headers })
  }

  /** Returns what ends it. */
  hold(holder: Holder): () => void {
    this.#holders.add(holder)
    return () => this.#holders.delete(holder)
  }

  /** Listens to what the server says unasked, and calls back when it can be heard, or will never be. */
  hear(then: () => void): void {
    if (this.#stopListening !== null) {
      if (this.#opening === null) then()
      else this.#opening.push(then)
      return
    }
    const waiting = [then]
    this.#opening = waiting
    const opened = (): void => {
      if (this.#opening !== waiting) return
      this.#opening = null
      clearTimeout(timer)
      for (const one of waiting) one()
    }
    const timer = setTimeout(opened, this.#listenWaitMs).unref()
    this.#stopListening = this.#link.listen(null, {
      opened,
      message: (message) => {
        if ('method' in message) this.#heard(message)
      },
      ended: () => {
        this.#stopListening = null
        opened()
        for (const holder of [...this.#holders]) holder.deaf?.()
      }
    })
    // A process has one stream for everything, and says nothing of its beginning.
    if (this.#kind !== 'http') opened()
  }

  #heard(message: RpcRequest | RpcNotification): void {
    if (!('id' in message)) {
      for (const holder of [...this.#holders]) holder.heard(message)
      return
    }
    const asked = [...this.#holders].findLast(({ mayBeAsked }) => mayBeAsked)
    if (asked === undefined || message.method === 'ping') this.refuse(message, 'no request of the client is under way')
    else asked.heard(message)
  }

  /** On the stream of one request. What is of no request may come there too: whoever listens hears it. */
  heardBy(holder: Holder, message: RpcRequest | RpcNotification): void {
    if ('id' in message) {
      if (holder.mayBeAsked) holder.heard(message)
      else this.#heard(message)
    } else if (OF_REQUESTS.has(message.method)) holder.heard(message)
    else this.#heard(message)
  }

  /** Answers a server's request that nobody can be asked. Pings are answered by the gateway itself. */
  refuse(request: RpcRequest, why: string): void {
    const isPing = request.method === 'ping'
    const error = { code: INTERNAL_ERROR, message: `The client cannot be asked: ${why}` }
    void this.#link.send(isPing ? { jsonrpc: '2.0', id: request.id, result: {} } : faultOf(request.id, error))
  }

  /** Nobody uses it again: DELETE, or the end of the child. */
  close(): void {
    if (this.isOver) return
    this.isOver = true
    this.#stopListening?.()
    this.#link.close()
  }
}

/** Notifications that come on the stream of the request that they are of. */
const OF_REQUESTS: ReadonlySet<string> = new Set(['notifications/progress', 'notifications/message'])

/** The session's own link, for one who must not end it. */
function borrowed(link: Link): Link {
  return {
    upstreamSession: link.upstreamSession,
    setVersion: () => undefined,
    request: (message, events, timeoutMs) => link.request(message, events, timeoutMs),
    send: (message) => link.send(message),
    listen: (lastEventId, events) => link.listen(lastEventId, events),
    close: () => undefined,
    release: () => undefined
  }
}

function factsOf(result: JsonObject): ServerFacts | null {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  if (typeof protocolVersion !== 'string' || eraOf(protocolVersion) !== 'stateful') return null
  return {
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : {},
    instructions: typeof instructions === 'string' ? instructions : null
  }
}
