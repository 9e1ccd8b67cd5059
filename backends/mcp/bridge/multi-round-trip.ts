/**
 * One request of a stateful client to a stateless server, as a multi round-trip request (2026-07-28,
 * basic/patterns/mrtr): an interim result becomes requests to the client, and their responses the next round.
 */
import { randomBytes } from 'node:crypto'
import {
  errorResponse,
  INTERNAL_ERROR,
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorResponse,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { HEADER_MISMATCH, STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import { OnceEvents } from '#backends/mcp/targets/once-events.ts'
import { failure, type Link, type LinkEvents } from '#backends/mcp/targets/target.ts'
import { INPUTS_MAX, inputResponse, requestOf, takesInput } from './input-requests.ts'
import type { SessionStates } from './session-state.ts'
import { INPUT_WAIT_MS } from './stateful-call.ts'
import { type ClientIdentity, statefulError, statefulResult, statelessRequest } from './stateful-client.ts'
import type { ToolHeaders } from './tool-headers.ts'

const ROUNDS_MAX = 32
const PAGES_MAX = 64

export interface MultiRoundTripParts {
  readonly key: string
  readonly client: ClientIdentity
  readonly states: SessionStates
  readonly tools: ToolHeaders
  /** A link whose requests also carry these headers, flat. */
  readonly open: (headers: string[]) => Link
}

export class MultiRoundTrip {
  readonly #parts: MultiRoundTripParts
  readonly #message: RpcRequest
  readonly #timeoutMs: number
  readonly #once: OnceEvents
  readonly #forget: () => void
  #stop: () => void = () => undefined
  #timer: NodeJS.Timeout | null = null
  #waits: (() => void)[] = []
  #round = 0
  #isMended = false

  constructor(parts: MultiRoundTripParts, message: RpcRequest, events: LinkEvents, timeoutMs: number) {
    this.#parts = parts
    this.#message = message
    this.#timeoutMs = timeoutMs
    this.#once = new OnceEvents(events, () => this.#over())
    this.#forget = parts.states.run(parts.key, message.id, () => this.leave())
  }

  begin(): () => void {
    this.#ask(this.#message)
    return () => this.leave()
  }

  leave(): void {
    if (this.#once.stop() !== null) this.#stop()
  }

  #over(): void {
    this.#forget()
    this.#clear()
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const forget of this.#waits.splice(0)) forget()
  }

  #ask(message: RpcRequest): void {
    const { states, key, client, tools, open } = this.#parts
    const link = open(tools.of(message))
    this.#stop = link.request(
      statelessRequest(message, client, states.level(key)),
      {
        message: (serverMessage) => {
          if (!('id' in serverMessage)) this.#once.message(serverMessage)
        },
        answered: (response) => {
          link.release()
          this.#answered({ ...response, id: this.#message.id }, message)
        },
        failed: (why) => {
          link.release()
          this.#once.failed(why)
        }
      },
      this.#timeoutMs
    )
  }

  #answered(response: RpcResponse, message: RpcRequest): void {
    const { method } = this.#message
    if ('error' in response) {
      if (response.error.code === HEADER_MISMATCH && method === 'tools/call' && !this.#isMended)
        this.#mend(message, null, 0)
      else this.#once.answered({ ...response, error: statefulError(response.error) })
      return
    }
    const { result } = response
    if (method === 'tools/list') this.#parts.tools.learn(result)
    if (result.resultType === 'input_required') {
      this.#input(result)
      return
    }
    const translated = statefulResult(method, result)
    if (translated === null) this.#refuse('the server answered with a type of result that this revision does not have')
    else {
      this.#once.cacheHints(result.ttlMs, result.cacheScope)
      this.#once.answered({ ...response, result: translated })
    }
  }

  /** Other mirrored headers are needed: the tools may have changed (Client Behavior: list them and try again). */
  #mend(message: RpcRequest, cursor: string | null, page: number): void {
    this.#isMended = true
    const { client, tools, open } = this.#parts
    const params: JsonObject = cursor === null ? {} : { cursor }
    const list: RpcRequest = { jsonrpc: '2.0', id: `${this.#message.id}.list${page}`, method: 'tools/list', params }
    const link = open([])
    const done = (): void => {
      link.release()
      if (!this.#once.isOver) this.#ask(message)
    }
    this.#stop = link.request(
      statelessRequest(list, client, null),
      {
        message: () => undefined,
        failed: done,
        answered: (response) => {
          if (!('result' in response)) {
            done()
            return
          }
          tools.learn(response.result)
          const { nextCursor } = response.result
          if (typeof nextCursor !== 'string' || page >= PAGES_MAX) done()
          else if (!this.#once.isOver) this.#mend(message, nextCursor, page + 1)
        }
      },
      this.#timeoutMs
    )
  }

  #input(result: JsonObject): void {
    const requests = this.#requests(result)
    if (typeof requests === 'string') this.#refuse(requests)
    else this.#gather(requests, result.requestState)
  }

  /** Requests for the client, by the server's names of the inputs; text: why there are none. */
  #requests(result: JsonObject): (readonly [string, RpcRequest])[] | string {
    if (STATELESS_METHODS.get(this.#message.method)?.asksBack !== true) return 'the server may not ask anything back'
    if (++this.#round > ROUNDS_MAX) return `the server has asked more than ${ROUNDS_MAX} times`
    const inputs = isObject(result.inputRequests) ? Object.entries(result.inputRequests) : []
    if (inputs.length > INPUTS_MAX) return `the server asks for more than ${INPUTS_MAX} things at once`
    const requests: (readonly [string, RpcRequest])[] = []
    for (const [name, input] of inputs) {
      const request = requestOf(input, `weir-${randomBytes(16).toString('base64url')}`)
      if (request === null || !takesInput(this.#parts.client.capabilities, request))
        return 'the server asks for what the client does not offer'
      requests.push([name, request])
    }
    return requests
  }

  /** Sends all requests to the client; goes on when it has answered them all. */
  #gather(requests: readonly (readonly [string, RpcRequest])[], state: JsonValue | undefined): void {
    const { states, key } = this.#parts
    const answers: Record<string, JsonValue> = {}
    let missing = requests.length
    if (missing === 0) {
      this.#again(answers, state)
      return
    }
    const late = failure('timeout', 'the client did not answer what the server asked in time')
    this.#timer = setTimeout(() => this.#once.failed(late), INPUT_WAIT_MS).unref()
    for (const [name, request] of requests) {
      const answered = (response: RpcResponse): void => {
        const answer = inputResponse(request.method, response)
        if ('code' in answer && 'message' in answer && 'error' in response) {
          this.#once.answered({ jsonrpc: '2.0', id: this.#message.id, error: answer as RpcErrorResponse['error'] })
          return
        }
        answers[name] = answer as JsonObject
        if (--missing === 0) this.#again(answers, state)
      }
      this.#waits.push(states.await(key, String(request.id), answered))
    }
    for (const [, request] of requests) this.#once.message(request)
  }

  #again(answers: JsonObject, state: JsonValue | undefined): void {
    if (this.#once.isOver) return
    this.#clear()
    const { inputResponses, requestState, ...params } = this.#message.params ?? {}
    const next: Record<string, JsonValue> = { ...params }
    if (Object.keys(answers).length > 0) next.inputResponses = answers
    if (state !== undefined) next.requestState = state
    // A request of its own, so with an id of its own.
    this.#ask({ ...this.#message, id: `${this.#message.id}.${this.#round}`, params: next })
  }

  #refuse(why: string): void {
    this.#once.answered(errorResponse(this.#message.id, INTERNAL_ERROR, `The request cannot go on: ${why}`))
  }
}
