/** Small things that all links of the bridge need: events told once, failures in words, a value's own digest. */
import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue, RpcFault, RpcId, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents, LinkFailure } from '#backends/mcp/targets/target.ts'

export function failure(kind: LinkFailure['kind'], message: string): LinkFailure {
  return { kind, status: null, message }
}

export function faultOf(id: RpcId, error: RpcFault['error']): RpcFault {
  return { jsonrpc: '2.0', id, error }
}

/** The same answer for a request that the client gave another id. */
export function withId(response: RpcResponse, id: RpcId): RpcResponse {
  return { ...response, id }
}

/** Events of a request that may be given up, and end once: `stop` makes everything after it unsaid. */
export class Told implements LinkEvents {
  #events: LinkEvents | null
  readonly #atEnd: () => void

  constructor(events: LinkEvents, atEnd: () => void = () => undefined) {
    this.#events = events
    this.#atEnd = atEnd
  }

  get isOver(): boolean {
    return this.#events === null
  }

  message(message: Parameters<LinkEvents['message']>[0]): void {
    this.#events?.message(message)
  }

  hinted(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): void {
    this.#events?.hinted?.(ttlMs, cacheScope)
  }

  answered(response: RpcResponse): void {
    this.stop()?.answered(response)
  }

  failed(why: LinkFailure): void {
    this.stop()?.failed(why)
  }

  stop(): LinkEvents | null {
    const events = this.#events
    this.#events = null
    if (events !== null) this.#atEnd()
    return events
  }
}

/** The same text for the same method and parameters, in whatever order the keys stand. Values are some levels deep. */
export function digestOf(method: string, params: JsonObject | undefined): string {
  const { _meta, inputResponses, requestState, ...rest } = params ?? {}
  return createHash('sha256').update(method).update('\n').update(canonical(rest)).digest('base64url')
}

function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const object = value as JsonObject
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key] ?? null)}`)
  return `{${members.join(',')}}`
}
