/** The tracers of a worker: one for each configuration of the policy `tracing` that is in force, or has been. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { SYSTEM_TIME, type Time } from '#engine/contract/time.ts'
import type { Tracer, TracingPlan } from '#engine/contract/tracing.ts'
import { VERSION } from '#engine/contract/version.ts'
import type { Metrics } from '#engine/telemetry/metrics.ts'
import { adjustClock } from './clock.ts'
import { Envelope } from './envelope.ts'
import { Exporter, type ExportObserver } from './exporter.ts'
import { SpanFactory } from './request-trace.ts'
import type { Attributes, AttributeValue } from './span-writer.ts'
import { RequestTracer } from './tracer.ts'

const SCOPE = 'weir'
/** How often the clock of the system is looked at. */
const CLOCK_MS = 10_000
/** One process, several workers. */
const INSTANCE = randomUUID()

export interface Tracing {
  /** The tracer of `plan`: the same one as long as a configuration is unchanged. */
  tracerFor(plan: TracingPlan): Tracer
  /** Resolves when all spans are sent, or have been dropped because that would take too long. */
  close(): Promise<void>
}

/** `expressionFailed`: counts an expression of a policy that gave nothing of use. */
export function createTracing(
  metrics: Metrics,
  expressionFailed: (policy: string) => void,
  time: Time = SYSTEM_TIME
): Tracing {
  const tracers = new WeakMap<TracingPlan, Tracer>()
  const exporters: Exporter[] = []
  const failed = () => expressionFailed('tracing')
  let stopClock: (() => void) | null = null
  const watchClock = (): void => {
    adjustClock()
    stopClock = time.after(CLOCK_MS, watchClock)
  }
  const make = (plan: TracingPlan): Tracer => {
    if (stopClock === null) watchClock()
    const { transport, batch, log } = plan
    const envelope = new Envelope(resourceOf(plan.resource), SCOPE, VERSION)
    const observer = observerOf(metrics)
    const exporter = new Exporter({ envelope, transport, batch, time, observer, log })
    // Those of configurations that are gone may still have something to send.
    for (let i = exporters.length - 1; i >= 0; i--) if (exporters[i]!.isEmpty) exporters.splice(i, 1)
    exporters.push(exporter)
    return new RequestTracer(new SpanFactory(plan, exporter, failed), time.random)
  }
  return {
    tracerFor(plan) {
      const known = tracers.get(plan) ?? make(plan)
      tracers.set(plan, known)
      return known
    },
    async close() {
      stopClock?.()
      await Promise.all(exporters.map((exporter) => exporter.close()))
    }
  }
}

function observerOf(metrics: Metrics): ExportObserver {
  const exported = metrics.counter('weir_trace_spans_exported_total', {})
  const retries = metrics.counter('weir_trace_export_retries_total', {})
  return {
    exported: (items) => exported.add(items),
    dropped: (items, reason) => metrics.counter('weir_trace_spans_dropped_total', { reason }).add(items),
    retried: () => retries.add(1)
  }
}

/** What the conventions ask of every service; the configuration may say otherwise. */
function resourceOf(configured: Attributes): Attributes {
  const all = new Map<string, AttributeValue>([
    ['service.name', process.env.OTEL_SERVICE_NAME || 'weir'],
    ['service.version', VERSION],
    ['service.instance.id', INSTANCE],
    ['host.name', hostname()],
    ['process.pid', process.pid],
    ['telemetry.sdk.name', 'weir'],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.version', VERSION]
  ])
  for (const [name, value] of configured) all.set(name, value)
  return [...all]
}
