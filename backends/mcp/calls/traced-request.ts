/** A request to a target of an exchange that is traced: it has a span of its own, whose headers the target gets. */

import type { RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { withTraceContext } from '#backends/mcp/protocol/trace-context.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import { type McpItem, mcpErrorType } from '#engine/contract/mcp-use.ts'
import type { ExchangeTrace } from '#engine/contract/tracing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { TargetRequest } from './target-request.ts'

/** What a method names, and in which parameter. */
const ITEMS: Readonly<Record<string, readonly [kind: McpItem['kind'], parameter: string] | undefined>> = {
  'tools/call': ['tool', 'name'],
  'prompts/get': ['prompt', 'name'],
  'resources/read': ['resource', 'uri'],
  'resources/subscribe': ['resource', 'uri'],
  'resources/unsubscribe': ['resource', 'uri']
}

/** `send`: as sendRequest, with what it is given. */
export function sendTraced(
  trace: ExchangeTrace,
  request: TargetRequest,
  message: RpcRequest,
  events: LinkEvents,
  send: (request: TargetRequest, message: RpcRequest, events: LinkEvents) => () => void
): () => void {
  const { ex, target } = request
  const { method, id } = message
  const span = trace.message(ex, { method, requestId: String(id), item: itemOf(message), target: target.name })
  let isOver = false
  const end = (errorType: string | undefined): void => {
    if (!isOver) span.end(errorType)
    isOver = true
  }
  const { answeredBytes } = events
  const tracedEvents: LinkEvents = {
    ...events,
    message: (serverMessage, eventId) => events.message(serverMessage, eventId),
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
  const headers = request.headers.copy()
  span.inject(headers)
  // Of our own: what a client sends in a format that is not read is no context.
  const context = new HeaderBlock()
  span.inject(context)
  for (const field of ['tracestate', 'baggage']) {
    const value = request.headers.getAll(field)
    if (value !== undefined) context.append(field, value)
  }
  const tracedMessage = context.has('traceparent')
    ? { ...message, params: withTraceContext(message.params, context) }
    : message
  const stop = send({ ...request, headers }, tracedMessage, tracedEvents)
  return () => {
    end('cancelled')
    stop()
  }
}

function itemOf({ method, params }: RpcRequest): Pick<McpItem, 'kind' | 'name'> | null {
  const named = ITEMS[method]
  const name = named === undefined ? undefined : params?.[named[1]]
  return named === undefined || typeof name !== 'string' ? null : { kind: named[0], name }
}

function toolError(result: object): string | undefined {
  return 'isError' in result && result.isError === true ? 'tool_error' : undefined
}
