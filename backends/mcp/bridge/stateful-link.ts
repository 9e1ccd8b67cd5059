/** A link for the session of a stateful client with a stateless server: what the server does not keep is kept here. */

import {
  INVALID_PARAMS,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcFault,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { STATEFUL_METHODS } from '#backends/mcp/protocol/stateful.ts'
import { LOG_LEVELS, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import { Listening } from './get-stream.ts'
import { failure, faultOf } from './link-events.ts'
import { Rounds, type RoundsParts } from './multi-round-trip.ts'
import type { SessionStates } from './session-state.ts'
import { discoverFor, factsOf, type Introduction, initializeResult, introductionOf } from './stateful-client.ts'
import type { ToolFields } from './tool-headers.ts'

export interface StatefulParts {
  readonly raw: Target
  readonly states: SessionStates
  readonly tools: ToolFields
}

const NOBODY: Introduction = { clientInfo: { name: 'unknown', version: '0' }, capabilities: {} }

export class StatefulLink implements Link {
  readonly upstreamSession = BRIDGED
  readonly #parts: StatefulParts
  readonly #options: LinkOptions
  #who: Introduction

  constructor(parts: StatefulParts, options: LinkOptions) {
    this.#parts = parts
    this.#options = options
    this.#who = options.client === undefined ? NOBODY : introduction(options.client)
  }

  setVersion(): void {}

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    if (message.method === 'initialize') return this.#initialize(message, events, timeoutMs)
    const own = this.#own(message)
    if (own !== null) {
      let isOver = false
      queueMicrotask(() => {
        if (isOver) return
        if ('code' in own) events.answered(faultOf(message.id, own as RpcFault['error']))
        else events.answered({ jsonrpc: '2.0', id: message.id, result: {} })
      })
      return () => {
        isOver = true
      }
    }
    return new Rounds(this.#rounds(), message, events, timeoutMs).begin()
  }

  /** What the gateway answers by itself: nothing, or why not. Null: the server is asked. */
  #own({ method, params }: RpcRequest): JsonObject | RpcFault['error'] | null {
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
    // What no revision has is of an extension.
    const isTheirs = STATELESS_METHODS.has(method) || !STATEFUL_METHODS.has(method)
    if (isTheirs && method !== 'subscriptions/listen') return null
    return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
  }

  #initialize(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    this.#who = introductionOf(message)
    const link = this.#open([])
    const answered = (response: RpcResponse): void => {
      link.release()
      const facts = 'result' in response ? factsOf(response.result, this.#parts.raw.name) : null
      if (facts === null) events.failed(failure('refused', 'the server does not say what it is'))
      else events.answered({ jsonrpc: '2.0', id: message.id, result: initializeResult(message, facts) })
    }
    const failed = (why: LinkFailure): void => {
      link.release()
      events.failed(why)
    }
    return link.request(discoverFor(this.#who, message.id), { message: () => undefined, answered, failed }, timeoutMs)
  }

  #rounds(): RoundsParts {
    const { states, tools } = this.#parts
    return { key: this.#options.sessionKey, who: this.#who, states, tools, open: (fields) => this.#open(fields) }
  }

  #open(fields: string[]): Link {
    const headers = this.#options.headers.copy()
    for (let i = 0; i + 1 < fields.length; i += 2) headers.append(fields[i]!, fields[i + 1]!)
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
    // The server has no use for the others: there is no handshake to complete, and roots are asked for anew.
    return null
  }

  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    const { states } = this.#parts
    return new Listening(states, this.#options.sessionKey, this.#who, () => this.#open([]), events).begin()
  }

  close(): void {
    this.#parts.states.change(this.#options.sessionKey, { kind: 'end' })
  }

  release(): void {}
}

function introduction({ info, capabilities }: { readonly info: JsonObject; readonly capabilities: JsonObject }) {
  return introductionOf({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { clientInfo: info, capabilities } })
}

function invalid(why: string): RpcFault['error'] {
  return { code: INVALID_PARAMS, message: `Invalid params: ${why}` }
}
