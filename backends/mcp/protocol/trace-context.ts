/**
 * Trace context of a message, in `_meta` of its params (SEP-414; MCP conventions of OpenTelemetry, "Context
 * propagation"): one HTTP request may carry several messages, and servers that are child processes have no headers.
 */
import type { MessageContext } from '#engine/contract/tracing.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { boundedBaggage } from '#engine/http/propagation/baggage.ts'
import { boundedTracestate, parseTraceparent } from '#engine/http/propagation/w3c.ts'
import { isObject, type JsonObject } from './json-rpc.ts'

/** Null: the client has none there, or none that can be read. */
export function traceContextOf(params: JsonObject | undefined): MessageContext | null {
  const meta = params?._meta
  if (!isObject(meta) || typeof meta.traceparent !== 'string') return null
  const context = parseTraceparent(meta.traceparent)
  if (context === null) return null
  const { traceId, spanId, isSampled, isRandom } = context
  const tracestate = typeof meta.tracestate === 'string' ? boundedTracestate(meta.tracestate) : ''
  return { traceId, spanId, isSampled: isSampled === true, isRandom, tracestate }
}

/**
 * The params with the context that `headers` have: traceparent of the span that sends them, tracestate and baggage of
 * the client, unless it has written these into the message itself.
 */
export function withTraceContext(params: JsonObject = {}, headers: HeaderBlock): JsonObject {
  const traceparent = headers.get('traceparent')
  if (traceparent === undefined) return params
  const { tracestate, baggage, ...meta } = isObject(params._meta) ? params._meta : {}
  const state = boundedTracestate(typeof tracestate === 'string' ? tracestate : (headers.getAll('tracestate') ?? ''))
  const luggage = boundedBaggage(typeof baggage === 'string' ? baggage : (headers.getAll('baggage') ?? ''))
  return {
    ...params,
    _meta: {
      ...meta,
      traceparent,
      ...(state === '' ? {} : { tracestate: state }),
      ...(luggage === '' ? {} : { baggage: luggage })
    }
  }
}
