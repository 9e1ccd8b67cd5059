/** A request to a target of an exchange that is traced: it has a span of its own, whose headers the target gets. */

import type { RpcNotification, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { withTraceContext } from '#backends/mcp/protocol/trace-context.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import { mcpErrorType } from '#engine/contract/mcp-use.ts'
import type { ExchangeTrace, MessageSpan } from '#engine/contract/tracing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { itemOf } from './message-item.ts'
import type { TargetRequest } from './target-request.ts'
import { TracedMessages } from './traced-messages.ts'

/** `send`: as sendRequest, with what it is given. */
export function sendTraced(
  trace: ExchangeTrace,
  request: TargetRequest,
  message: RpcRequest,
  events: LinkEvents,
  send: (request: TargetRequest, message: RpcRequest, events: LinkEvents) => () => void
): () => void {
  const { ex, session, target } = request
  const { method, id } = message
  const span = trace.message(ex, { method, requestId: String(id), item: itemOf(message), target: target.name })
  const messages = new TracedMessages(trace, ex, session, span)
  let isOver = false
  const end = (errorType: string | undefined): void => {
    if (!isOver) span.end(errorType)
    messages.close()
    isOver = true
  }
  const { answeredBytes } = events
  const tracedEvents: LinkEvents = {
    ...events,
    message: (serverMessage, eventId) => events.message(messages.relay(target.name, serverMessage), eventId),
    answered: (response, eventId) => {
      end('error' in response ? String(response.error.code) : toolError(response.result))
      events.answered(response, eventId)
    },
    failed: (failure) => {
      end(failure.kind)
      events.failed(failure)
    },
    ...(events.cacheHints === undefined ? {} : { cacheHints: events.cacheHints.bind(events) }),
    ...(answeredBytes === undefined
      ? {}
      : {
          answeredBytes: (json: Buffer, eventId?: string | null) => {
            answeredBytes.call(events, json, eventId)
            // Who was asked for bytes has looked into them, for the log.
            end(ex.mcp === null ? undefined : mcpErrorType(ex.mcp))
          }
        })
  }
  const { headers, message: tracedMessage } = withContextOf(span, request.headers, message)
  const stop = send({ ...request, headers }, tracedMessage, tracedEvents)
  return () => {
    end('cancelled')
    stop()
  }
}

function toolError(result: object): string | undefined {
  return 'isError' in result && result.isError === true ? 'tool_error' : undefined
}

/** A notification of the client of a traced exchange to a target: as sendTraced. */
export async function notifyTraced<Failure extends { readonly kind: string }>(
  trace: ExchangeTrace,
  { ex, target, headers }: Pick<TargetRequest, 'ex' | 'headers'> & { readonly target: string },
  notification: RpcNotification,
  send: (headers: HeaderBlock, notification: RpcNotification) => Promise<Failure | null>
): Promise<Failure | null> {
  const { method } = notification
  const span = trace.message(ex, { method, requestId: '', item: itemOf(notification), target })
  const traced = withContextOf(span, headers, notification)
  const failure = await send(traced.headers, traced.message)
  span.end(failure?.kind)
  return failure
}

/** The message, and the fields of the client that are forwarded with it, as they go out for `span`. */
function withContextOf<Message extends RpcRequest | RpcNotification>(
  span: MessageSpan,
  forwarded: HeaderBlock,
  message: Message
): { readonly headers: HeaderBlock; readonly message: Message } {
  const headers = forwarded.copy()
  span.inject(headers)
  // Of our own: what a client sends in a format that is not read is no context.
  const context = new HeaderBlock()
  span.inject(context)
  if (!context.has('traceparent')) return { headers, message }
  for (const field of ['tracestate', 'baggage']) {
    const value = forwarded.getAll(field)
    if (value !== undefined) context.append(field, value)
  }
  return { headers, message: { ...message, params: withTraceContext(message.params, context) } }
}
