/** A link for a stateful client's session with a stateless server: the gateway keeps the session's state. */

import { appendFlat } from '#backends/mcp/protocol/flat-headers.ts'
import {
  INVALID_PARAMS,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcErrorResponse,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { STATEFUL_METHODS } from '#backends/mcp/protocol/stateful.ts'
import { LOG_LEVELS, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import {
  failure,
  type Link,
  type LinkEvents,
  type LinkFailure,
  type LinkOptions,
  type ListenEvents,
  type Target
} from '#backends/mcp/targets/target.ts'
import { GetStreamBridge } from './get-stream.ts'
import { MultiRoundTrip, type MultiRoundTripParts } from './multi-round-trip.ts'
import type { SessionStates } from './session-state.ts'
import {
  type ClientIdentity,
  clientIdentityOf,
  discoverFor,
  initializeResult,
  readDiscoverResult
} from './stateful-client.ts'
import type { ToolHeaders } from './tool-headers.ts'
export interface StatefulParts {
  readonly raw: Target
  readonly states: SessionStates
  readonly tools: ToolHeaders
}

const UNKNOWN_CLIENT: ClientIdentity = { clientInfo: { name: 'unknown', version: '0' }, capabilities: {} }

export class StatefulLink implements Link {
  readonly upstreamSession = BRIDGED
  readonly #parts: StatefulParts
  readonly #options: LinkOptions
  #client: ClientIdentity

  constructor(parts: StatefulParts, options: LinkOptions) {
    this.#parts = parts
    this.#options = options
    this.#client = options.client === undefined ? UNKNOWN_CLIENT : introduction(options.client)
  }

  setVersion(): void {}

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    if (message.method === 'initialize') return this.#initialize(message, events, timeoutMs)
    const own = this.#own(message)
    if (own !== null) {
      let isOver = false
      queueMicrotask(() => {
        if (isOver) return
        if ('code' in own) events.answered({ jsonrpc: '2.0', id: message.id, error: own as RpcErrorResponse['error'] })
        else events.answered({ jsonrpc: '2.0', id: message.id, result: {} })
      })
      return () => {
        isOver = true
      }
    }
    return new MultiRoundTrip(this.#roundTripParts(), message, events, timeoutMs).begin()
  }

  /** An empty result or an error, where the gateway responds by itself; null: the server does. */
  #own({ method, params }: RpcRequest): JsonObject | RpcErrorResponse['error'] | null {
    const { states } = this.#parts
    const key = this.#options.sessionKey
    if (method === 'ping') return {}
    if (method === 'logging/setLevel') {
      const level = params?.level
      if (typeof level !== 'string' || !LOG_LEVELS.includes(level)) return invalid('level is no level of logging')
      states.change(key, { kind: 'level', level })
      return {}
    }
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
      const uri = params?.uri
      if (typeof uri !== 'string') return invalid('uri must be text')
      const kind = method === 'resources/subscribe' ? 'subscribe' : 'unsubscribe'
      if (kind === 'subscribe' && !states.hasRoom(key)) return invalid('the session has too many subscriptions')
      states.change(key, { kind, uri })
      return {}
    }
    // A method that no revision has is of an extension.
    const isTheirs = STATELESS_METHODS.has(method) || !STATEFUL_METHODS.has(method)
    if (isTheirs && method !== 'subscriptions/listen') return null
    return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
  }

  #initialize(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    this.#client = clientIdentityOf(message)
    const link = this.#open([])
    const answered = (response: RpcResponse): void => {
      link.release()
      const facts = 'result' in response ? readDiscoverResult(response.result, this.#parts.raw.name) : null
      if (facts === null) events.failed(failure('refused', 'the server does not say what it is'))
      else events.answered({ jsonrpc: '2.0', id: message.id, result: initializeResult(message, facts) })
    }
    const failed = (why: LinkFailure): void => {
      link.release()
      events.failed(why)
    }
    return link.request(
      discoverFor(this.#client, message.id),
      { message: () => undefined, answered, failed },
      timeoutMs
    )
  }

  #roundTripParts(): MultiRoundTripParts {
    const { states, tools } = this.#parts
    return { key: this.#options.sessionKey, client: this.#client, states, tools, open: (fields) => this.#open(fields) }
  }

  #open(fields: string[]): Link {
    const headers = appendFlat(fields, this.#options.headers.copy())
    return this.#parts.raw.open({ ...this.#options, upstreamSession: null, version: STATELESS, headers })
  }

  async send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    const { states } = this.#parts
    const key = this.#options.sessionKey
    if (!('method' in message)) {
      states.respond(key, message)
      return null
    }
    const id = message.method === 'notifications/cancelled' ? message.params?.requestId : undefined
    if (typeof id === 'string' || typeof id === 'number') states.change(key, { kind: 'cancel', id })
    // The server has no use for the others: there is no handshake, and roots are asked for each time.
    return null
  }

  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    const { states } = this.#parts
    return new GetStreamBridge(states, this.#options.sessionKey, this.#client, () => this.#open([]), events).begin()
  }

  close(): void {
    this.#parts.states.change(this.#options.sessionKey, { kind: 'end' })
  }

  release(): void {}
}

function introduction({ info, capabilities }: { readonly info: JsonObject; readonly capabilities: JsonObject }) {
  return clientIdentityOf({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { clientInfo: info, capabilities } })
}

function invalid(why: string): RpcErrorResponse['error'] {
  return { code: INVALID_PARAMS, message: `Invalid params: ${why}` }
}
