/**
 * One session with a stateful server, begun by the gateway in the name of a stateless caller. Requests get ids of the
 * session. Notifications outside of any request go to all listeners; a request of the server goes to one whose client
 * can be asked, and all of them belong to this caller.
 */

import { readInitializeResult, type ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import {
  errorResponse,
  INTERNAL_ERROR,
  type JsonObject,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { eraOf } from '#backends/mcp/protocol/revisions.ts'
import { failure, type Link, type LinkFailure, type LinkOptions, type Target } from '#backends/mcp/targets/target.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { ResourceSubscriptions } from './resource-subscriptions.ts'
import { type ClientMeta, initializeFor } from './stateless-client.ts'

/**
 * A call waits for the stream of server-initiated messages to open, since servers drop messages without a listener.
 * Some send no response head before the first message: then it waits twice as long as the handshake took, within
 * these bounds.
 */
const LISTEN_WAIT_MIN_MS = 50
const LISTEN_WAIT_MAX_MS = 1000

/** Gets the server's messages outside of any request. */
export interface SessionListener {
  onMessage(message: RpcRequest | RpcNotification): void
  /** Whether its client can be sent a request. */
  readonly acceptsRequests: boolean
  /** The stream of server-initiated messages has ended. */
  onStreamEnd?(): void
}

export class UpstreamSession {
  /** One link for all requests: the session has no id that another link could name. */
  readonly #hasOneLink: boolean
  readonly #link: Link
  readonly #name: string
  /** LinkOptions.party. */
  readonly party: string
  facts: ServerFacts = { protocolVersion: '', capabilities: {}, serverInfo: {}, instructions: null }
  readonly #listeners = new Set<SessionListener>()
  /** Requests under way. */
  users = 0
  usedAt = 0
  logLevel: string | null = null
  isOver = false
  #lastId = 0
  #listenWaitMs = LISTEN_WAIT_MAX_MS
  #stopListening: (() => void) | null = null
  /** What waits for the stream to open; null: nothing has to. */
  #opening: (() => void)[] | null = null
  readonly subscriptions = new ResourceSubscriptions()

  constructor(raw: Target, name: string, { headers, party }: LinkOptions) {
    this.#hasOneLink = raw.traits.keepsLink
    this.#name = name
    this.party = party ?? ''
    this.#link = raw.open({ sessionKey: name, upstreamSession: null, version: null, headers, party: this.party })
  }

  /** The handshake (2025-11-25, basic/lifecycle). */
  begin(client: ClientMeta, timeoutMs: number, done: (failure: LinkFailure | null) => void): () => void {
    const initialize = initializeFor(client, this.nextId())
    const begunAt = performance.now()
    return this.#link.request(
      initialize,
      {
        message: () => undefined,
        failed: done,
        answered: (response) => {
          const facts = 'result' in response ? statefulFacts(response.result) : null
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

  /** The server has given it an id. */
  get hasId(): boolean {
    return this.#link.upstreamSession !== null
  }

  nextId(): number {
    return ++this.#lastId
  }

  /** A link with the headers of one request, to the target in that request's configuration. The caller releases it. */
  linkFor(raw: Target, headers: HeaderBlock): Link {
    if (this.#hasOneLink) return borrowed(this.#link.forRequest?.(headers) ?? this.#link)
    const { upstreamSession } = this.#link
    return raw.open({ sessionKey: this.#name, upstreamSession, version: this.facts.protocolVersion, headers })
  }

  /** Returns what removes it. */
  addListener(listener: SessionListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Opens the stream of server-initiated messages, and calls back when it is open or never will be. */
  openStream(then: () => void): void {
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
        if ('method' in message) this.#dispatch(message)
      },
      ended: () => {
        this.#stopListening = null
        opened()
        for (const listener of [...this.#listeners]) listener.onStreamEnd?.()
      }
    })
    // A process has one stream for everything, which does not open separately.
    if (this.#hasOneLink) opened()
  }

  #dispatch(message: RpcRequest | RpcNotification): void {
    if (!('id' in message)) {
      for (const listener of [...this.#listeners]) listener.onMessage(message)
      return
    }
    const listener = [...this.#listeners].findLast(({ acceptsRequests }) => acceptsRequests)
    if (listener === undefined || message.method === 'ping')
      this.refuse(message, 'no request of the client is under way')
    else listener.onMessage(message)
  }

  /** For messages on the stream of one request: those of no request may come there, too. */
  route(listener: SessionListener, message: RpcRequest | RpcNotification): void {
    if ('id' in message) {
      if (listener.acceptsRequests) listener.onMessage(message)
      else this.#dispatch(message)
    } else if (OF_REQUESTS.has(message.method)) listener.onMessage(message)
    else this.#dispatch(message)
  }

  /** Answers a request of the server that no client can get. The gateway answers pings itself. */
  refuse(request: RpcRequest, why: string): void {
    const isPing = request.method === 'ping'
    const { id } = request
    const refusal = errorResponse(id, INTERNAL_ERROR, `The client cannot be asked: ${why}`)
    void this.#link.send(isPing ? { jsonrpc: '2.0', id, result: {} } : refusal)
  }

  /** Ends the session: DELETE, or the end of the process. */
  close(): void {
    if (this.isOver) return
    this.isOver = true
    this.#stopListening?.()
    this.#link.close()
  }
}

/** Notifications that belong to the request on whose stream they come. */
const OF_REQUESTS: ReadonlySet<string> = new Set(['notifications/progress', 'notifications/message'])

/** The session's own link, for a user that must not end it. */
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

/** Null: no session of the stateful era. */
function statefulFacts(result: JsonObject): ServerFacts | null {
  const facts = readInitializeResult(result)
  return facts !== null && eraOf(facts.protocolVersion) === 'stateful' ? facts : null
}
