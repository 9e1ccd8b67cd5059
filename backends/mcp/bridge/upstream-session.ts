/**
 * One session with a stateful server, made by the gateway in the name of stateless callers. Requests get ids of the
 * session; what the server says unasked goes to the one call that has the session to itself.
 */

import { eraOf } from '#backends/mcp/protocol/revisions.ts'
import { isObject } from '#backends/mcp/protocol/stateless.ts'
import {
  INTERNAL_ERROR,
  type JsonObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/rpc.ts'
import type { Link, LinkFailure, ServerFacts, Target } from '#backends/mcp/target.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { failure, faultOf } from './events.ts'
import { type Claim, initializeFor } from './stateless-client.ts'

/**
 * A call waits for the stream of unasked messages to open, since servers lose what nobody listens to. Some servers send
 * no head before the first message: for those it waits twice as long as the handshake took, within these milliseconds.
 */
const LISTEN_WAIT_MIN_MS = 50
const LISTEN_WAIT_MAX_MS = 1000

/** Who has a session to itself, and hears what its server says unasked. */
export interface Holder {
  heard(message: RpcRequest | RpcNotification): void
  /** The stream of unasked messages has ended. */
  deaf?(): void
}

export class UpstreamSession {
  readonly #raw: Target
  readonly #link: Link
  readonly #name: string
  facts: ServerFacts = { protocolVersion: '', capabilities: {}, serverInfo: {}, instructions: null }
  holder: Holder | null = null
  /** Requests under way. */
  users = 0
  usedAt = 0
  logLevel: string | null = null
  isOver = false
  #lastId = 0
  #listenWaitMs = LISTEN_WAIT_MAX_MS
  #stopListening: (() => void) | null = null

  constructor(raw: Target, name: string, headers: HeaderBlock) {
    this.#raw = raw
    this.#name = name
    this.#link = raw.open({ sessionKey: name, upstreamSession: null, version: null, headers })
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

  nextId(): number {
    return ++this.#lastId
  }

  /** A link with the fields of one request. Whoever asks for it releases it. */
  linkFor(headers: HeaderBlock): Link {
    if (this.#raw.kind !== 'http') return borrowed(this.#link)
    const { upstreamSession } = this.#link
    return this.#raw.open({ sessionKey: this.#name, upstreamSession, version: this.facts.protocolVersion, headers })
  }

  /** Listens to what the server says unasked, and calls back when it can be heard, or will never be. */
  hear(then: () => void): void {
    if (this.#stopListening !== null) {
      then()
      return
    }
    let isWaited = true
    const opened = (): void => {
      if (!isWaited) return
      isWaited = false
      clearTimeout(timer)
      then()
    }
    const timer = setTimeout(opened, this.#listenWaitMs).unref()
    this.#stopListening = this.#link.listen(null, {
      opened,
      message: (message) => this.#heard(message),
      ended: () => {
        this.#stopListening = null
        opened()
        this.holder?.deaf?.()
      }
    })
    // A process has one stream for everything, and says nothing of its beginning.
    if (this.#raw.kind !== 'http') opened()
  }

  #heard(message: RpcMessage): void {
    if (!('method' in message)) return
    if (this.holder !== null) this.holder.heard(message)
    else if ('id' in message) this.refuse(message, 'no request of the client is under way')
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
