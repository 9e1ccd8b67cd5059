/**
 * Requests and notifications of servers to the client of a traced exchange (MCP conventions of OpenTelemetry): each has
 * a span for what has come from the server, whose context it may have brought, and one for what goes to the client.
 */
import { isId, isObject, type JsonObject, type RpcMessage, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { traceContextOf, withTraceContext } from '#backends/mcp/protocol/trace-context.ts'
import { type ServerRequest, ServerRequests } from '#backends/mcp/session/server-requests.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type ExchangeTrace, type MessageSpan, TRACE } from '#engine/contract/tracing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { itemOf } from './message-item.ts'

export class TracedMessages {
  readonly #trace: ExchangeTrace
  readonly #ex: Exchange
  readonly #session: Session
  /** The request that they belong to; null: they come on a stream of their own. */
  readonly #request: MessageSpan | null

  constructor(trace: ExchangeTrace, ex: Exchange, session: Session, request: MessageSpan | null) {
    this.#trace = trace
    this.#ex = ex
    this.#session = session
    this.#request = request
  }

  /** The message as the client gets it. Responses pass as they are. */
  relay<Message extends RpcMessage>(target: string, message: Message): Message {
    if (!('method' in message)) return message
    const { method, params } = message
    const context = traceContextOf(params)
    const requestId = 'id' in message ? String(message.id) : ''
    const about = { method, requestId, item: itemOf(message), target }
    const span = this.#trace.serverMessage(this.#ex, about, context, this.#request)
    if ('id' in message) this.#await({ target, id: message.id, relay: this, end: (errorType) => span.end(errorType) })
    else span.end(undefined)
    const cancelled = method === 'notifications/cancelled' ? params?.requestId : undefined
    if (isId(cancelled)) this.#session.serverRequests?.answered(target, cancelled, 'cancelled')
    const headers = new HeaderBlock()
    span.inject(headers)
    if (!headers.has('traceparent')) return message
    if (span.tracestate !== '') headers.append('tracestate', span.tracestate)
    return { ...message, params: withTraceContext(withoutState(params), headers) }
  }

  /** Nothing comes any more: an answer may have gone to another worker, or will never come. */
  close(): void {
    this.#session.serverRequests?.endOf(this)
  }

  #await(request: ServerRequest): void {
    this.#session.serverRequests ??= new ServerRequests()
    this.#session.serverRequests.add(request)
  }
}

/** Null: the exchange is not traced. */
export function tracedMessages(ex: Exchange, session: Session): TracedMessages | null {
  const trace = TRACE.get(ex)
  return trace === null ? null : new TracedMessages(trace, ex, session, null)
}

/** The client's answer to a request of a server, under the id that the server knows. */
export function traceAnswer({ serverRequests }: Session, target: string, response: RpcResponse): void {
  if (response.id === null) return
  const errorType = 'error' in response ? String(response.error.code) : undefined
  serverRequests?.answered(target, response.id, errorType)
}

/** State of a trace that the message does not go on with is none of the span that it has now. */
function withoutState(params: JsonObject | undefined): JsonObject | undefined {
  if (params === undefined || !isObject(params._meta) || params._meta.tracestate === undefined) return params
  const { tracestate: _, ...meta } = params._meta
  return { ...params, _meta: meta }
}
