/** What frontend policies make of a Runtime: traces are begun where requests are routed. */
import type { Background } from '#engine/contract/background.ts'
import type { Router } from '#engine/contract/route.ts'
import type { Tracer } from '#engine/contract/tracing.ts'
import type { FrontendPlans } from './policies.ts'
import type { RuntimeDeps } from './runtime-types.ts'

export function tracerOf({ tracing }: FrontendPlans, { tracerFor }: RuntimeDeps): Tracer | null {
  return tracing === null || tracerFor === undefined ? null : tracerFor(tracing)
}

/** As `route`; it also begins the trace of an exchange. */
export function traced(route: Router['route'], tracer: Tracer | null): Router['route'] {
  if (tracer === null) return route
  return (ex) => {
    const code = route(ex)
    // Behind the listener, whose names expressions may read; ahead of all hooks.
    tracer.begin(ex)
    return code
  }
}

/** Metrics go to a collector while the configuration is in force. */
export function metricsOf({ metrics }: FrontendPlans, { exportMetrics }: RuntimeDeps): Background[] {
  const background = metrics === null || exportMetrics === undefined ? null : exportMetrics(metrics)
  return background === null ? [] : [background]
}

/** What was gathered under one configuration does not wait for the end of the next one. */
export function flushOf(tracer: Tracer | null): Background[] {
  return tracer === null ? [] : [{ begin() {}, end: () => tracer.flush() }]
}

/** By the access log or by spans, when an exchange is over. */
export function isRead(
  { log, tracing }: FrontendPlans,
  what: 'readsTimes' | 'readsRouting' | 'readsRequests' | 'readsAnswers'
): boolean {
  return log?.[what] === true || tracing?.[what] === true
}
