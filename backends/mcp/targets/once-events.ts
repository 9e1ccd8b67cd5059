/** Events of a request that ends once and may be given up: after `stop` nothing is passed on. */

import type { JsonValue, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents, LinkFailure } from './target.ts'
export class OnceEvents implements LinkEvents {
  #events: LinkEvents | null
  readonly #onEnd: () => void

  constructor(events: LinkEvents, onEnd: () => void = () => undefined) {
    this.#events = events
    this.#onEnd = onEnd
  }

  get isOver(): boolean {
    return this.#events === null
  }

  message(message: Parameters<LinkEvents['message']>[0]): void {
    this.#events?.message(message)
  }

  cacheHints(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): void {
    this.#events?.cacheHints?.(ttlMs, cacheScope)
  }

  answered(response: RpcResponse): void {
    this.stop()?.answered(response)
  }

  failed(failure: LinkFailure): void {
    this.stop()?.failed(failure)
  }

  stop(): LinkEvents | null {
    const events = this.#events
    this.#events = null
    if (events !== null) this.#onEnd()
    return events
  }
}
