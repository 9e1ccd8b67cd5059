/** What frontend policies make of a Runtime: traces are begun where requests are routed. */
import type { Background } from '#engine/contract/background.ts'
import type { ContentPlan } from '#engine/contract/kept-content.ts'
import type { Router } from '#engine/contract/route.ts'
import type { Tracer } from '#engine/contract/tracing.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { contentPlan } from '#engine/spend/content.ts'
import type { FrontendPlans } from './policies.ts'
import type { RuntimeDeps } from './runtime-types.ts'

/** What is said in calls of models, where records of them have it; null: none have. */
export function contentOf({ process }: Snapshot, { services }: RuntimeDeps): ContentPlan | null {
  const prompts = process.spendLog?.prompts
  return prompts === undefined ? null : contentPlan(prompts, services.offload)
}

/** `content`: what was said goes into spans, where it is to be there. */
export function tracerOf(
  { tracing }: FrontendPlans,
  { tracerFor }: RuntimeDeps,
  content: ContentPlan | null
): Tracer | null {
  if (tracing === null || tracerFor === undefined) return null
  return tracerFor(tracing, content?.isTraced === true ? content.read : null)
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
