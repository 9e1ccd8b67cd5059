/** A target without a server: what it is asked is written down, and what it says is the test's. */

import type { JsonObject, RpcId, RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { TARGET_KINDS } from '#backends/mcp/targets/index.ts'
import type {
  Link,
  LinkEvents,
  LinkFailure,
  LinkOptions,
  ListenEvents,
  Target,
  TargetTraits
} from '#backends/mcp/targets/target.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
/** One request that a link was given. */
export class ScriptedRequest {
  readonly options: LinkOptions
  readonly message: RpcRequest
  readonly events: LinkEvents
  isCancelled = false

  constructor(options: LinkOptions, message: RpcRequest, events: LinkEvents) {
    this.options = options
    this.message = message
    this.events = events
  }

  result(result: JsonObject): void {
    if (!this.isCancelled) this.events.answered({ jsonrpc: '2.0', id: this.message.id, result })
  }

  error(code: number, message: string, data?: JsonObject): void {
    const error = data === undefined ? { code, message } : { code, message, data }
    if (!this.isCancelled) this.events.answered({ jsonrpc: '2.0', id: this.message.id, error })
  }

  fail(failure: LinkFailure): void {
    if (!this.isCancelled) this.events.failed(failure)
  }
}

export class ScriptedTarget implements Target {
  readonly name = 'scripted'
  readonly traits: TargetTraits
  readonly requests: ScriptedRequest[] = []
  readonly sent: (RpcNotification | RpcResponse)[] = []
  readonly streams: ListenEvents[] = []
  opened = 0
  closed = 0
  /** Answers what is asked, in a later turn. */
  answer: (request: ScriptedRequest) => void = () => undefined
  /** Hears what is sent. */
  heard: (message: RpcNotification | RpcResponse) => void = () => undefined

  constructor(kind = 'http') {
    this.traits = TARGET_KINDS.get(kind)!.traits
  }

  /** Names of the methods that it was asked, in order. */
  get methods(): string[] {
    return this.requests.map(({ message }) => message.method)
  }

  last(method: string): ScriptedRequest {
    const found = this.requests.findLast(({ message }) => message.method === method)
    if (found === undefined) throw new Error(`${method} was not asked`)
    return found
  }

  open(options: LinkOptions): Link {
    this.opened++
    let session = options.upstreamSession
    return {
      get upstreamSession() {
        return session
      },
      setVersion: () => undefined,
      request: (message, events) => {
        const request = new ScriptedRequest(options, message, events)
        this.requests.push(request)
        if (message.method === 'initialize') session = `session-${this.requests.length}`
        queueMicrotask(() => {
          if (!request.isCancelled) this.answer(request)
        })
        return () => {
          request.isCancelled = true
        }
      },
      send: async (message) => {
        this.sent.push(message)
        this.heard(message)
        return null
      },
      listen: (_lastEventId, events) => {
        this.streams.push(events)
        queueMicrotask(() => events.opened?.())
        return () => {
          const at = this.streams.indexOf(events)
          if (at >= 0) this.streams.splice(at, 1)
        }
      },
      close: () => {
        this.closed++
      },
      release: () => undefined
    }
  }
}

/** Events of one request, written down; `end` comes when it is over. */
export class Heard implements LinkEvents {
  readonly messages: (RpcRequest | RpcNotification)[] = []
  readonly end: Promise<RpcResponse | LinkFailure>
  readonly #done: (outcome: RpcResponse | LinkFailure) => void
  /** Called with each message. */
  onMessage: (message: RpcRequest | RpcNotification) => void = () => undefined

  constructor() {
    const { promise, resolve } = Promise.withResolvers<RpcResponse | LinkFailure>()
    this.end = promise
    this.#done = resolve
  }

  message(message: RpcRequest | RpcNotification): void {
    this.messages.push(message)
    this.onMessage(message)
  }

  answered(response: RpcResponse): void {
    this.#done(response)
  }

  failed(failure: LinkFailure): void {
    this.#done(failure)
  }

  /** The result, when there is one. */
  async result(): Promise<JsonObject> {
    const outcome = await this.end
    if ('result' in outcome) return outcome.result
    throw new Error(`no result but ${JSON.stringify(outcome)}`)
  }

  async code(): Promise<number> {
    const outcome = await this.end
    if ('error' in outcome) return outcome.error.code
    throw new Error(`no error but ${JSON.stringify(outcome)}`)
  }
}

export function optionsFor(sessionKey: string, version: string | null, rest: Partial<LinkOptions> = {}): LinkOptions {
  return { sessionKey, upstreamSession: null, version, headers: new HeaderBlock(), ...rest }
}

export function ask(id: RpcId, method: string, params: JsonObject = {}): RpcRequest {
  return { jsonrpc: '2.0', id, method, params }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function turns(count = 4): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}
