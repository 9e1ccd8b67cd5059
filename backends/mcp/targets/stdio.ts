/**
 * MCP servers that are child processes (MCP, stdio transport: one JSON-RPC message per line). The main thread has the
 * processes (engine/workers/children); here a session's conversation is put into its terms.
 */

import { fieldsOf } from '#backends/mcp/bridge/owner-requests.ts'
import type {
  JsonValue,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import type { ChildFailure, ChildLink, Children, ChildSpec } from '#engine/contract/children.ts'
import { isObject, tokenOf } from './meta.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

export function stdioTarget(spec: ChildSpec, children: Children): Target {
  return lineTarget('stdio', spec, children)
}

/** A server that takes and gives one message after the other. */
export function lineTarget(kind: 'stdio' | 'sse', spec: ChildSpec, children: Children): Target {
  return {
    name: spec.target,
    kind,
    open({ sessionKey, upstreamSession, headers, party }: LinkOptions) {
      const fields = kind === 'sse' ? fieldsOf(headers) : undefined
      return new LineLink(spec, children.open(sessionKey, spec, upstreamSession, party), fields)
    }
  }
}

class LineLink implements Link {
  readonly #spec: ChildSpec
  readonly #child: ChildLink
  /** For whatever stands for a process: a process itself gets none. */
  readonly #extra: readonly string[] | undefined

  constructor(spec: ChildSpec, child: ChildLink, extra: readonly string[] | undefined) {
    this.#spec = spec
    this.#child = child
    this.#extra = extra
  }

  get upstreamSession(): string | null {
    return this.#child.instance
  }

  /** Nothing on this wire says the version. */
  setVersion(): void {}

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { id, ...rest } = message
    const isInitialize = message.method === 'initialize'
    let timer: NodeJS.Timeout | undefined
    const over = () => clearTimeout(timer)
    const text = JSON.stringify(rest)
    if (text.length > this.#spec.lineBytesMax) {
      const words = 'the message is longer than what it is sent'
      const told = setImmediate(() => events.failed({ kind: 'refused', status: null, message: words }))
      return () => clearImmediate(told)
    }
    const giveUp = this.#child.request(
      { text, id, progressToken: tokenOf(message), isInitialize, extra: this.#extra },
      {
        message: (line) => events.message(renamed(JSON.parse(line) as RpcRequest | RpcNotification, id)),
        answered(line) {
          over()
          events.answered({ ...(JSON.parse(line) as RpcResponse), id })
        },
        failed(failure) {
          over()
          events.failed(toLinkFailure(failure))
        }
      }
    )
    if (timeoutMs > 0) {
      timer = setTimeout(() => {
        giveUp()
        const words = `did not answer within ${timeoutMs} ms`
        events.failed({ kind: 'timeout', status: null, message: words })
      }, timeoutMs)
    }
    return () => {
      over()
      giveUp()
    }
  }

  async send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    const method = 'method' in message ? message.method : null
    const cancels = method === 'notifications/cancelled' ? cancelledBy(message as RpcNotification) : null
    const failure = await this.#child.send({ text: JSON.stringify(message), method, cancels, extra: this.#extra })
    return failure === null ? null : toLinkFailure(failure)
  }

  /** There are no event ids: what was said while nobody listened is told at once, as far as it was kept. */
  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    events.opened?.()
    return this.#child.listen({
      message: (line) => events.message(JSON.parse(line) as RpcRequest | RpcNotification, null),
      ended: (failure) => events.ended(toLinkFailure(failure))
    })
  }

  close(): void {
    this.#child.close()
  }

  release(): void {
    this.#child.release()
  }
}

function cancelledBy({ params }: RpcNotification): string | number | null {
  const id = params?.requestId
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** What a subscription sends names it by the id that it had on the wire (2026-07-28, subscriptions). */
function renamed<T extends RpcMessage & { params?: unknown }>(message: T, id: string | number): T {
  const { params } = message
  if (!isObject(params) || !isObject(params._meta) || params._meta[SUBSCRIPTION] === undefined) return message
  return { ...message, params: { ...params, _meta: { ...params._meta, [SUBSCRIPTION]: id satisfies JsonValue } } }
}

function toLinkFailure({ kind, message, status }: ChildFailure): LinkFailure {
  return { kind, status: status ?? null, message }
}
