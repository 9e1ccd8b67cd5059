/** Which requests are traced: what their callers have decided, and the shares of the configuration. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ContentReader } from '#engine/contract/kept-content.ts'
import { TRACE, type Tracer, type TracingPlan } from '#engine/contract/tracing.ts'
import { boundBaggage } from '#engine/http/propagation/baggage.ts'
import { MALFORMED, type TraceContext } from '#engine/http/propagation/trace-context.ts'
import { boundTracestate } from '#engine/http/propagation/w3c.ts'
import { isInShare, newSpanId, newTraceId } from './ids.ts'
import { RequestTrace, type SpanFactory } from './request-trace.ts'

export class RequestTracer implements Tracer {
  readonly #factory: SpanFactory
  readonly #plan: TracingPlan
  readonly #random: () => number
  readonly #hasTracestate: boolean
  readonly #hasBaggage: boolean

  constructor(factory: SpanFactory, random: () => number) {
    const { plan } = factory
    this.#factory = factory
    this.#plan = plan
    this.#random = random
    this.#hasTracestate = plan.propagators.includes('tracecontext')
    this.#hasBaggage = plan.propagators.includes('baggage')
  }

  /** Null: spans tell nothing of what was said. */
  set content(content: ContentReader | null) {
    this.#factory.content = content
  }

  /** Nothing is allocated for a request that brings no trace and is not sampled: most are like that. */
  begin(ex: Exchange): void {
    if (this.#hasBaggage) boundBaggage(ex.request)
    const context = this.#extract(ex)
    if (context === null) this.#beginTrace(ex)
    else this.#join(ex, context)
  }

  flush(): void {
    this.#factory.exporter.flush()
  }

  /** What the first format says whose headers are there and in order. */
  #extract(ex: Exchange): TraceContext | null {
    const { propagators } = this.#factory
    for (let i = 0; i < propagators.length; i++) {
      const context = propagators[i]!.extract(ex.request)
      if (context === null) continue
      if (context !== MALFORMED) return context
      propagators[i]!.remove(ex.request)
    }
    return null
  }

  #beginTrace(ex: Exchange): void {
    const { randomSampling } = this.#plan
    if (randomSampling === null) return
    const share = randomSampling(ex)
    if (share <= 0 || (share < 1 && this.#random() >= share)) return
    this.#start(ex, null)
  }

  #join(ex: Exchange, context: TraceContext): void {
    const tracestate = this.#hasTracestate ? boundTracestate(ex.request) : ''
    if (context.isSampled === false) return
    const { clientSampling } = this.#plan
    const share = clientSampling === null ? 1 : clientSampling(ex)
    const isIn = context.traceId === '' ? this.#random() < share : share > 0 && isInShare(context.traceId, share)
    if (isIn) this.#start(ex, context, tracestate)
    else this.#decline(ex, context)
  }

  #start(ex: Exchange, context: TraceContext | null, tracestate = ''): void {
    const joined = context === null || context.traceId === '' ? null : context
    const origin = {
      traceId: joined?.traceId ?? newTraceId(),
      spanId: joined?.spanId ?? '',
      isDebug: context?.isDebug ?? false,
      isRandom: joined?.isRandom ?? false,
      tracestate: joined === null ? '' : tracestate
    }
    // State of no trace, or of one that could not be read (Trace Context, section 3.3).
    if (joined === null && this.#hasTracestate) ex.request.remove('tracestate')
    TRACE.set(ex, new RequestTrace(this.#factory, origin))
  }

  /** Passes the decision on to upstreams. A changed flag needs a new parent (Trace Context, section 3.2.3). */
  #decline(ex: Exchange, { traceId, isRandom }: TraceContext): void {
    const propagated = {
      traceId: traceId || newTraceId(),
      spanId: newSpanId(),
      isSampled: false,
      isDebug: false,
      isRandom
    }
    for (const propagator of this.#factory.propagators) propagator.inject(ex.request, propagated)
  }
}
