/** The trace of one sampled exchange: its own span, unless another one has that, and those of its attempts. */

import { performance } from 'node:perf_hooks'
import { detailOf } from '#engine/contract/detail.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ContentReader, KeptContent } from '#engine/contract/kept-content.ts'
import type { ModelUse } from '#engine/contract/model-use.ts'
import type { ExchangeTrace, MessageContext, MessageSpan, SentMessage, TracingPlan } from '#engine/contract/tracing.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { TRACE_PROPAGATORS } from '#engine/http/propagation/propagators.ts'
import type { Propagator } from '#engine/http/propagation/trace-context.ts'
import { compileAttributes, compileStableAttributes } from '#engine/telemetry/otlp/attributes.ts'
import { micros } from '#engine/telemetry/otlp/clock.ts'
import type { Exporter } from '#engine/telemetry/otlp/exporter.ts'
import { AttemptSpans } from './attempt-span.ts'
import { CALLER_ATTRIBUTES, hasKey } from './caller-attributes.ts'
import { newSpanId } from './ids.ts'
import { LANGFUSE_ATTRIBUTES } from './langfuse.ts'
import { McpSpans } from './mcp-span.ts'
import { RouteAttributes, SERVER_ATTRIBUTES, STABLE_SERVER_ATTRIBUTES, serverError } from './server-span.ts'
import { SPAN_ATTRIBUTES, SPAN_SERVER, type SpanIds, SpanWriter } from './span-writer.ts'

const SAMPLED = 1
const RANDOM = 2

/** What all traces of one configuration share. */
export class SpanFactory {
  readonly plan: TracingPlan
  readonly exporter: Exporter
  readonly propagators: readonly Propagator[]
  readonly out = new SpanWriter()
  readonly attempts: AttemptSpans
  readonly mcp: McpSpans
  readonly routes: RouteAttributes
  readonly writeServer: (ex: Exchange, out: SpanWriter) => void
  readonly writeCaller: (ex: Exchange, out: SpanWriter) => void
  readonly writeStable: (ex: Exchange, out: SpanWriter) => void
  readonly failed: () => void
  /** Null: spans tell nothing of what was said. */
  content: ContentReader | null = null

  /** `failed`: an expression of an attribute gave nothing that can be written. */
  constructor(plan: TracingPlan, exporter: Exporter, failed: () => void) {
    this.plan = plan
    this.exporter = exporter
    this.failed = failed
    this.propagators = plan.propagators.flatMap((name) => (name === 'baggage' ? [] : [TRACE_PROPAGATORS[name]]))
    this.attempts = new AttemptSpans(plan)
    this.mcp = new McpSpans(plan.skip)
    this.routes = new RouteAttributes(plan.skip, SPAN_ATTRIBUTES)
    const own = plan.isForLangfuse ? LANGFUSE_ATTRIBUTES : []
    this.writeServer = compileAttributes(SERVER_ATTRIBUTES, plan.skip)
    this.writeCaller = compileStableAttributes([...CALLER_ATTRIBUTES, ...own], plan.skip)
    this.writeStable = compileStableAttributes(STABLE_SERVER_ATTRIBUTES, plan.skip)
  }
}

/** What a request has brought with it; spanId '': it begins its trace. */
export interface TraceOrigin {
  readonly traceId: string
  readonly spanId: string
  readonly isDebug: boolean
  readonly isRandom: boolean
  readonly tracestate: string
}

export class RequestTrace implements ExchangeTrace {
  readonly traceId: string
  readonly spanId: string
  readonly #factory: SpanFactory
  readonly #origin: TraceOrigin
  /** It is the gateway's own request: the span that it has part in is written by another trace. */
  readonly #isInner: boolean
  /** Of the span of a message to MCP servers; '': nothing has been asked on its behalf. */
  #messageId = ''
  /** What the message has brought with it; null: it is a part of the request. */
  #messageOrigin: TraceOrigin | null = null
  /** Of the attempt that is under way; '': none is. */
  #attemptId = ''
  #attemptStartedAt = 0
  #attemptStatus = 0
  #endpoint: Endpoint | null = null
  #attempts = 0

  constructor(factory: SpanFactory, origin: TraceOrigin, spanId = newSpanId(), isInner = false) {
    this.#factory = factory
    this.#origin = origin
    this.traceId = origin.traceId
    this.spanId = spanId
    this.#isInner = isInner
  }

  /** The trace context for services, whose caller is the span `spanId`. */
  inject(headers: HeaderBlock, spanId = this.spanId, { traceId, isDebug, isRandom } = this.#origin): void {
    const context = { traceId, spanId, isSampled: true, isDebug, isRandom }
    for (const propagator of this.#factory.propagators) propagator.inject(headers, context)
  }

  sending(ex: Exchange, endpoint: Endpoint): void {
    // A backend may send again by itself.
    if (this.#attemptId !== '') this.retrying(ex, null)
    this.#attemptId = newSpanId()
    this.#attemptStartedAt = performance.now()
    this.#attemptStatus = 0
    this.#endpoint = endpoint
    this.#attempts++
    this.inject(ex.request, this.#attemptId)
    const { tracestate } = this.#origin
    // Backends write heads of their own.
    if (tracestate !== '' && !ex.request.has('tracestate')) ex.request.append('tracestate', tracestate)
  }

  answered(status: number): void {
    if (this.#attemptId !== '') this.#attemptStatus = status
  }

  retrying(ex: Exchange, code: ErrorCode | null): void {
    if (this.#attemptId !== '') this.#endAttempt(ex, code, performance.now())
  }

  over(ex: Exchange): void {
    const endedAt = performance.now()
    if (this.#attemptId !== '') this.#endAttempt(ex, ex.error, endedAt, this.#contentOf(ex))
    if (!this.#isInner) this.#endRequest(ex, endedAt)
  }

  child(ex: Exchange): ExchangeTrace {
    return new RequestTrace(this.#factory, this.#messageOrigin ?? this.#origin, this.#callerOf(ex), true)
  }

  /** A message that its sender does not sample is a part of the request, which is. */
  joinMessage({ traceId, spanId, isSampled, isRandom, tracestate }: MessageContext): void {
    if (!isSampled) return
    this.#messageOrigin = { traceId, spanId, isDebug: this.#origin.isDebug, isRandom, tracestate }
  }

  message(ex: Exchange, message: SentMessage): MessageSpan {
    const spanId = newSpanId()
    const origin = this.#messageOrigin ?? this.#origin
    const ids = this.#ids(spanId, this.#callerOf(ex), false, origin)
    const startedAt = performance.now()
    return {
      spanId,
      tracestate: origin.tracestate,
      inject: (headers) => this.inject(headers, spanId, origin),
      end: (errorType) => {
        const times = { startedAt: micros(startedAt), endedAt: micros(performance.now()) }
        const { exporter, mcp, out } = this.#factory
        exporter.add(mcp.writeSent(out, { ...message, errorType, use: ex.mcp }, ids, times))
      }
    }
  }

  /** A context that is not sampled is none: the message is a part of the exchange, which is. */
  serverMessage(
    ex: Exchange,
    message: SentMessage,
    context: MessageContext | null,
    request: MessageSpan | null
  ): MessageSpan {
    const around = this.#messageOrigin ?? this.#origin
    const callerId = request?.spanId ?? this.#callerOf(ex)
    const isJoined = context?.isSampled === true
    const origin = isJoined ? { ...context, isDebug: this.#origin.isDebug } : around
    const received = this.#ids(newSpanId(), isJoined ? context.spanId : callerId, isJoined, origin)
    const sent = this.#ids(newSpanId(), received.spanId, false, origin)
    const carrier = isJoined ? { traceId: around.traceId, spanId: callerId } : null
    const startedAt = performance.now()
    return {
      spanId: sent.spanId,
      tracestate: origin.tracestate,
      inject: (headers) => this.inject(headers, sent.spanId, origin),
      end: (errorType) => {
        const times = { startedAt: micros(startedAt), endedAt: micros(performance.now()) }
        const { exporter, mcp, out } = this.#factory
        const answered = { ...message, errorType, use: ex.mcp }
        exporter.add(mcp.writeReceived(out, answered, received, times, carrier))
        exporter.add(mcp.writeSent(out, answered, sent, times))
      }
    }
  }

  /** The span that asks others: that of a message to MCP servers, or the request's own. */
  #callerOf(ex: Exchange): string {
    if (ex.mcp?.method === undefined) return this.spanId
    if (this.#messageId === '') this.#messageId = newSpanId()
    return this.#messageId
  }

  #ids(spanId: string, parentSpanId: string, isParentRemote: boolean, origin = this.#origin): SpanIds {
    const { traceId, isRandom, tracestate } = origin
    return { traceId, spanId, parentSpanId, isParentRemote, flags: SAMPLED | (isRandom ? RANDOM : 0), tracestate }
  }

  /** No guard has seen what the gateway's own requests were answered. */
  #contentOf(ex: Exchange): ReturnType<ContentReader> {
    return this.#isInner || this.#factory.content === null ? null : this.#factory.content(ex)
  }

  /** `content`: of the last attempt. */
  #endAttempt(ex: Exchange, error: ErrorCode | null, now: number, content: ReturnType<ContentReader> = null): void {
    const { attempts, exporter, out } = this.#factory
    const attempt = { ex, endpoint: this.#endpoint!, resends: this.#attempts - 1, status: this.#attemptStatus, error }
    const times = { startedAt: micros(this.#attemptStartedAt), endedAt: micros(now) }
    const ids = this.#ids(this.#attemptId, this.spanId, false)
    this.#attemptId = ''
    const span = attempts.write(out, attempt, ids, times)
    if (content === null) exporter.add(span)
    else if (content instanceof Promise) void this.#endWith(Buffer.from(span), content, ex.llm)
    else exporter.add(attempts.addContent(out, content, ex.llm))
  }

  async #endWith(known: Buffer, content: Promise<KeptContent | null>, llm: ModelUse | null): Promise<void> {
    const kept = await content
    const { attempts, exporter, out } = this.#factory
    out.resume(known)
    exporter.add(kept === null ? out.end() : attempts.addContent(out, kept, llm))
  }

  #endRequest(ex: Exchange, now: number): void {
    const { exporter, out, routes, writeServer, writeStable, writeCaller, plan, mcp } = this.#factory
    const names = routes.of(ex)
    const times = { startedAt: micros(ex.startedAt), endedAt: micros(now) }
    const ids = this.#ids(this.spanId, this.#origin.spanId, true)
    if (ex.mcp?.method !== undefined) {
      const origin = this.#messageOrigin
      const id = this.#messageId || newSpanId()
      const own = origin === null ? this.#ids(id, this.spanId, false) : this.#ids(id, origin.spanId, true, origin)
      exporter.add(mcp.write(out, ex, own, times, origin === null ? null : this))
    }
    out.begin(ids, routes.nameOf(names, ex.method), SPAN_SERVER, times)
    out.encoded(names.attributes)
    writeStable(ex, out)
    writeServer(ex, out)
    if (hasKey(ex)) writeCaller(ex, out)
    if (serverError(ex) !== undefined) out.failed(detailOf(ex) ?? '')
    const later = plan.elsewhere === null ? null : plan.elsewhere(ex)
    if (later !== null) this.#endLater(ex, later)
    else {
      if (plan.attributes !== null) this.#count(plan.attributes(ex, out))
      exporter.add(out.end())
    }
  }

  /** Attributes that another thread works out follow those that are known: the order of fields says nothing. */
  #endLater(ex: Exchange, later: NonNullable<ReturnType<NonNullable<TracingPlan['elsewhere']>>>): void {
    const { exporter, out } = this.#factory
    const known = Buffer.from(out.end())
    // It never rejects (TracingPlan.elsewhere).
    void later.then(({ attributes }) => {
      out.resume(known)
      if (attributes !== null) this.#count(attributes(ex, out))
      exporter.add(out.end())
    })
  }

  #count(failed: number): void {
    for (let i = 0; i < failed; i++) this.#factory.failed()
  }
}
