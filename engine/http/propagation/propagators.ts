/** Formats of trace headers by the names that OpenTelemetry has for them (OTEL_PROPAGATORS). */
import { b3Multi, b3Single } from './b3.ts'
import type { Propagator } from './trace-context.ts'
import { traceparent } from './w3c.ts'

export const TRACE_PROPAGATORS = {
  tracecontext: traceparent,
  b3: b3Single,
  b3multi: b3Multi
} as const satisfies Record<string, Propagator>

/** `baggage` tells nothing of a trace: it is passed on. */
export const PROPAGATOR_NAMES = ['tracecontext', 'baggage', 'b3', 'b3multi'] as const

export type PropagatorName = (typeof PROPAGATOR_NAMES)[number]
