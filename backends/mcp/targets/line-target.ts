/**
 * Servers that exchange one message per line with a process, or with what stands for one. The main thread owns those
 * (engine/workers/children); a link is one session's conversation with one of them.
 */

import { flatten } from '#backends/mcp/protocol/flat-headers.ts'
import {
  isObject,
  type JsonValue,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { progressTokenOf } from '#backends/mcp/protocol/progress-token.ts'
import { META_SUBSCRIPTION } from '#backends/mcp/protocol/stateless.ts'
import type { ChildFailure, ChildLink, Children, ChildSpec } from '#engine/contract/children.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import {
  failure,
  type Link,
  type LinkEvents,
  type LinkFailure,
  type LinkOptions,
  type ListenEvents,
  type Target,
  type TargetTraits
} from './target.ts'
export class LineTarget implements Target {
  readonly name: string
  readonly traits: TargetTraits
  readonly #spec: ChildSpec
  readonly #children: Children

  constructor(spec: ChildSpec, children: Children, traits: TargetTraits) {
    this.name = spec.target
    this.traits = traits
    this.#spec = spec
    this.#children = children
  }

  open({ sessionKey, upstreamSession, headers, party }: LinkOptions): Link {
    const fields = this.traits.isProcess ? undefined : flatten(headers)
    return new LineLink(this.#spec, this.#children.open(sessionKey, this.#spec, upstreamSession, party), fields)
  }
}

class LineLink implements Link {
  readonly #spec: ChildSpec
  readonly #child: ChildLink
  /** Header fields, for what stands for a process: a process gets none. */
  readonly #extra: readonly string[] | undefined

  constructor(spec: ChildSpec, child: ChildLink, extra: readonly string[] | undefined) {
    this.#spec = spec
    this.#child = child
    this.#extra = extra
  }

  get upstreamSession(): string | null {
    return this.#child.instance
  }

  forRequest(headers: HeaderBlock): Link {
    return this.#extra === undefined ? this : new LineLink(this.#spec, this.#child, flatten(headers))
  }

  /** Messages on this wire do not carry the version. */
  setVersion(): void {}

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { id, ...rest } = message
    const isInitialize = message.method === 'initialize'
    let timer: NodeJS.Timeout | undefined
    const over = () => clearTimeout(timer)
    const text = JSON.stringify(rest)
    if (text.length > this.#spec.lineBytesMax) {
      const late = setImmediate(() => events.failed(failure('refused', 'the message is longer than what it is sent')))
      return () => clearImmediate(late)
    }
    const giveUp = this.#child.request(
      { text, id, progressToken: progressTokenOf(message), isInitialize, extra: this.#extra },
      {
        message: (line) => events.message(withSubscriptionId(JSON.parse(line) as RpcRequest | RpcNotification, id)),
        answered(line) {
          over()
          events.answered({ ...(JSON.parse(line) as RpcResponse), id })
        },
        failed(why) {
          over()
          events.failed(toLinkFailure(why))
        }
      }
    )
    if (timeoutMs > 0) {
      timer = setTimeout(() => {
        giveUp()
        events.failed(failure('timeout', `did not answer within ${timeoutMs} ms`))
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
    const why = await this.#child.send({ text: JSON.stringify(message), method, cancels, extra: this.#extra })
    return why === null ? null : toLinkFailure(why)
  }

  /** There are no event ids: messages that were kept without a listener come at once. */
  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    events.opened?.()
    return this.#child.listen({
      message: (line) => events.message(JSON.parse(line) as RpcRequest | RpcNotification, null),
      ended: (why) => events.ended(toLinkFailure(why))
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

/** Notifications name their subscription by the id that the request had on the wire (2026-07-28, subscriptions). */
function withSubscriptionId<T extends RpcMessage & { params?: unknown }>(message: T, id: string | number): T {
  const { params } = message
  if (!isObject(params) || !isObject(params._meta) || params._meta[META_SUBSCRIPTION] === undefined) return message
  return { ...message, params: { ...params, _meta: { ...params._meta, [META_SUBSCRIPTION]: id satisfies JsonValue } } }
}

function toLinkFailure({ kind, message, status }: ChildFailure): LinkFailure {
  return failure(kind, message, status)
}
