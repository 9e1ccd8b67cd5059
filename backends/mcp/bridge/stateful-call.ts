/**
 * One call of a stateless client to a stateful server. When the server asks the client something, the client's request
 * ends with an interim result, and the call waits here for the retry that brings the answers (2026-07-28,
 * basic/patterns/mrtr); meanwhile nothing of it is lost.
 */

import {
  errorResponse,
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorResponse,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isAtLeast, metaOf, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import { failure, type Link, type LinkEvents, type LinkFailure } from '#backends/mcp/targets/target.ts'
import { INPUTS_MAX, inputRequest, takesAnyInput, takesInput } from './input-requests.ts'
import {
  type ClientMeta,
  interimResult,
  statefulRequest,
  statelessError,
  statelessResult,
  urlInputs
} from './stateless-client.ts'
import type { SessionListener, UpstreamSession } from './upstream-session.ts'

/** Notifications that are kept while the client is away; the oldest are dropped first. */
const BACKLOG_MAX = 64
/** How long a call waits for people to answer; milliseconds. */
export const INPUT_WAIT_MS = 300_000

/** What a call asks of its owner. */
export interface CallOwnerEvents {
  /** The call waits for a retry. The request state for the client; null: too many calls wait. */
  suspend(call: StatefulCall): string | null
  /** It is over. */
  ended(call: StatefulCall): void
}

export class StatefulCall implements SessionListener {
  readonly #message: RpcRequest
  readonly #client: ClientMeta
  readonly #owner: CallOwnerEvents
  readonly session: UpstreamSession
  readonly #link: Link
  #id: number
  /** Null: no request of the client is open. */
  #events: LinkEvents | null = null
  #clientId: RpcId = 0
  #timer: NodeJS.Timeout | null = null
  #inputRequests = new Map<string, RpcRequest>()
  /** Inputs of the server's error -32042: the call is sent again after them. */
  #urls: JsonObject | null = null
  #backlog: RpcNotification[] = []
  #outcome: RpcResponse | LinkFailure | null = null
  #lastKey = 0
  #stop: () => void = () => undefined
  #isFlushing = false
  #isOver = false
  round = 0

  constructor(message: RpcRequest, client: ClientMeta, session: UpstreamSession, link: Link, owner: CallOwnerEvents) {
    this.#message = message
    this.#client = client
    this.#owner = owner
    this.session = session
    this.#link = link
    this.#id = session.nextId()
  }

  begin(events: LinkEvents, timeoutMs: number): () => void {
    const leave = this.attach(this.#message.id, events, timeoutMs)
    this.#send()
    return leave
  }

  #send(): void {
    const level = this.#client.logLevel
    // The most verbose request decides for the session; the others are filtered.
    const isQuieter = level !== null && (this.session.logLevel === null || !isAtLeast(level, this.session.logLevel))
    if (level !== null && isQuieter && isObject(this.session.facts.capabilities.logging)) {
      this.session.logLevel = level
      const set: RpcRequest = {
        jsonrpc: '2.0',
        id: this.session.nextId(),
        method: 'logging/setLevel',
        params: { level }
      }
      this.#link.request(set, { message: ignore, answered: ignore, failed: ignore }, 10_000)
    }
    this.#stop = this.#link.request(
      statefulRequest(this.#message, this.#id),
      {
        message: (message) => this.session.route(this, message),
        answered: (response) => this.#onEnd(response),
        failed: (why) => this.#onEnd(why)
      },
      0
    )
  }

  /** A request of the client waits for the call. Returns what gives it up, which cancels the call. */
  attach(clientId: RpcId, events: LinkEvents, timeoutMs: number): () => void {
    this.#clientId = clientId
    this.#events = events
    this.#wait(timeoutMs)
    for (const message of this.#backlog.splice(0)) events.message(message)
    if (this.#outcome !== null) this.#finish(this.#outcome)
    return () => {
      if (this.#events === events) this.cancel()
    }
  }

  /** Takes the answers of a retry, and requests missing ones again. */
  answer(answers: JsonObject): void {
    if (this.#isOver) return
    if (this.#urls !== null) {
      this.#urls = null
      this.#id = this.session.nextId()
      this.#send()
      return
    }
    for (const [key, request] of this.#inputRequests) {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (!isObject(answer)) continue
      this.#inputRequests.delete(key)
      void this.#link.send({ jsonrpc: '2.0', id: request.id, result: answer })
    }
    if (this.#inputRequests.size > 0 && this.#outcome === null) this.#ask()
  }

  get acceptsRequests(): boolean {
    const asksBack = STATELESS_METHODS.get(this.#message.method)?.asksBack === true
    return asksBack && !this.#isOver && takesAnyInput(this.#client.capabilities)
  }

  onMessage(message: RpcRequest | RpcNotification): void {
    if (this.#isOver) return
    if ('id' in message) this.#onRequest(message)
    else this.#onNotification(message)
  }

  #onRequest(request: RpcRequest): void {
    const why = this.#whyNot(request)
    if (why !== null) {
      this.session.refuse(request, why)
      return
    }
    this.#inputRequests.set(`input${++this.#lastKey}`, request)
    if (this.#isFlushing) return
    // What a server asks in one turn of the event loop goes to the client together.
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      if (!this.#isOver && this.#inputRequests.size > 0) this.#ask()
    })
  }

  #whyNot(request: RpcRequest): string | null {
    if (request.method === 'ping') return 'ping'
    if (STATELESS_METHODS.get(this.#message.method)?.asksBack !== true)
      return `${this.#message.method} asks nothing back`
    if (!takesInput(this.#client.capabilities, request)) return `it does not take ${request.method}`
    return this.#inputRequests.size >= INPUTS_MAX ? 'too much is asked at once' : null
  }

  #ask(): void {
    const inputs: Record<string, JsonValue> = {}
    for (const [key, request] of this.#inputRequests) inputs[key] = inputRequest(request)
    this.#interim(inputs)
  }

  #interim(inputs: JsonObject): void {
    // While no request waits, the next retry gets it.
    if (this.#events === null) return
    this.round++
    const state = this.#owner.suspend(this)
    if (state === null) {
      for (const request of this.#inputRequests.values())
        this.session.refuse(request, 'too many calls wait for answers')
      this.#inputRequests.clear()
      if (this.#urls !== null) this.#finish(failure('refused', 'too many calls wait for answers'))
      return
    }
    const events = this.#events
    this.#events = null
    this.#wait(INPUT_WAIT_MS)
    events.answered({ jsonrpc: '2.0', id: this.#clientId, result: interimResult(inputs, state) })
  }

  #onNotification(notification: RpcNotification): void {
    const translated = this.#forClient(notification)
    if (translated === null) return
    if (this.#events !== null) {
      this.#events.message(translated)
      return
    }
    if (this.#backlog.length >= BACKLOG_MAX) this.#backlog.shift()
    this.#backlog.push(translated)
  }

  /** Progress under the client's token, log messages of its level; changes go to subscriptions. */
  #forClient(notification: RpcNotification): RpcNotification | null {
    const { method, params } = notification
    if (method === 'notifications/progress') {
      const token = metaOf(this.#message.params).progressToken
      if (token === undefined || params?.progressToken !== this.#id) return null
      return { ...notification, params: { ...params, progressToken: token } }
    }
    const level = this.#client.logLevel
    return method === 'notifications/message' && level !== null && isAtLeast(params?.level, level) ? notification : null
  }

  #onEnd(outcome: RpcResponse | LinkFailure): void {
    if (this.#isOver) return
    const inputs = 'error' in outcome ? urlInputs(outcome.error, this.#client.capabilities) : null
    if (inputs !== null && this.#events !== null && STATELESS_METHODS.get(this.#message.method)?.asksBack === true) {
      this.#urls = inputs
      this.#interim(inputs)
      return
    }
    if (this.#events === null) this.#outcome = outcome
    else this.#finish(outcome)
  }

  #finish(outcome: RpcResponse | LinkFailure): void {
    const events = this.#events
    this.#end()
    if ('kind' in outcome) events?.failed(outcome)
    else events?.answered({ ...this.#forStateless(outcome), id: this.#clientId })
  }

  #forStateless(response: RpcResponse): RpcResponse {
    if ('error' in response) return { ...response, error: statelessError(response.error) as RpcErrorResponse['error'] }
    return { ...response, result: statelessResult(this.#message.method, response.result, this.session.facts) }
  }

  /** The client has left, or took too long to answer. */
  cancel(): void {
    if (this.#isOver) return
    const params = { requestId: this.#id, reason: 'the client has left' }
    void this.#link.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    this.#stop()
    this.#end()
  }

  #wait(timeoutMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = timeoutMs <= 0 ? null : setTimeout(() => this.#late(), timeoutMs).unref()
  }

  #late(): void {
    const events = this.#events
    this.cancel()
    events?.failed(failure('timeout', 'the server did not answer in time'))
  }

  #end(): void {
    this.#isOver = true
    this.#events = null
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#link.release()
    this.#owner.ended(this)
  }

  /** Refuses a retry of no known call. */
  static unknown(id: RpcId): RpcErrorResponse {
    const message = 'Invalid params: requestState is unknown or has expired; make the call again without it'
    return errorResponse(id, INVALID_PARAMS, message)
  }
}

function ignore(): void {
  // The answer to logging/setLevel changes nothing.
}
