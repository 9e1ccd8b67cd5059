/** The tracers of a worker: one for each configuration of the policy `tracing` that is in force, or has been. */
import type { ContentReader } from '#engine/contract/kept-content.ts'
import type { Time } from '#engine/contract/time.ts'
import type { Tracer, TracingPlan } from '#engine/contract/tracing.ts'
import type { Exporters } from '#engine/telemetry/otlp/exporters.ts'
import { SpanFactory } from './request-trace.ts'
import { RequestTracer } from './tracer.ts'

/**
 * The tracer of a plan: the same one as long as a configuration is unchanged. `failed`: counts an expression that gave
 * nothing of use.
 */
export function createTracing(
  exporters: Exporters,
  failed: () => void,
  time: Time
): (plan: TracingPlan, content?: ContentReader | null) => Tracer {
  const tracers = new WeakMap<TracingPlan, RequestTracer>()
  return (plan, content = null) => {
    const exporter = exporters.exporterFor(plan, 'traces')
    const known = tracers.get(plan) ?? new RequestTracer(new SpanFactory(plan, exporter, failed), time.random)
    known.content = content
    tracers.set(plan, known)
    return known
  }
}
