/**
 * RECORD, the last step of every exchange: counters, histograms, access-log line.
 *
 * It runs once per exchange whatever happened, so it must cost next to nothing: series are found by
 * small integers and kept from the last exchange, because neighbours mostly end the same way. No
 * string is built unless the access log is on.
 */
import { performance } from 'node:perf_hooks'
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ContentReader } from '#engine/contract/kept-content.ts'
import type { Recorder, RecorderLabels } from '#engine/contract/route.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { SpendSinks } from '#engine/spend/sinks.ts'
import type { AccessLog } from './access-log.ts'
import type { LogRecords } from './log-records.ts'
import type { McpMetrics } from './mcp-metrics.ts'
import type { Counter, Histogram, Metrics } from './metrics.ts'
import type { ModelMetrics } from './model-metrics.ts'
import type { SideCallMetrics } from './side-calls.ts'

/**
 * Methods that are a label value; any other token is "other" (RFC 9110 section 9.3, RFC 5789).
 * The index is part of the key of a series; 15 at most.
 */
const METHODS = ['other', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] as const
const METHOD_INDEX = new Map<string, number>(METHODS.map((method, i) => [method, i]))

const REASONS = ['Upstream', 'DirectResponse', ...(Object.keys(ERRORS) as ErrorCode[])] as const
const REASON_INDEX = new Map<string, number>(REASONS.map((reason, i) => [reason, i]))

/** Combinations of method, status and reason per route and backend; what comes later is counted as "other". */
const OUTCOMES_MAX = 128

/** What all recorders of a worker write to. */
export interface RecorderParts {
  readonly metrics: Metrics
  readonly accessLog: AccessLog
  readonly models: ModelMetrics
  readonly sideCalls: SideCallMetrics
  readonly mcp: McpMetrics
  readonly spend: SpendSinks
  /** For collectors, by the plan of the access log; null: it has none. */
  readonly logRecords: (plan: AccessLogPlan | null) => LogRecords | null
}

export class RouteRecorder implements Recorder {
  readonly #metrics: Metrics
  readonly #accessLog: AccessLog
  readonly #models: ModelMetrics
  readonly #sideCalls: SideCallMetrics
  readonly #mcp: McpMetrics
  readonly #spend: SpendSinks
  readonly #plan: AccessLogPlan | null
  readonly #records: LogRecords | null
  readonly #labels: RecorderLabels
  /** Null: what is said is not kept. */
  readonly #content: ContentReader | null
  readonly #port: string
  /** Null: there is one, which was the last. */
  #backends: Map<string, BackendSeries> | null = null
  #last: BackendSeries | null = null
  /** Made with the first exchange: thousands of routes without traffic need no series. */
  #totals: RouteTotals | null = null
  #logPrefix: string | null = null

  constructor(
    parts: RecorderParts,
    plan: AccessLogPlan | null,
    labels: RecorderLabels,
    content: ContentReader | null = null
  ) {
    const { port } = labels
    this.#content = content
    const { metrics, accessLog, models, sideCalls, mcp, spend, logRecords } = parts
    this.#spend = spend
    this.#records = logRecords(plan)
    this.#mcp = mcp
    this.#models = models
    this.#sideCalls = sideCalls
    this.#plan = plan
    this.#metrics = metrics
    this.#accessLog = accessLog
    this.#labels = labels
    this.#port = port === 0 ? '' : String(port)
  }

  /** Called once, when `ex` is over. Reads ex only. */
  record(ex: Exchange): void {
    const durationMs = performance.now() - ex.startedAt
    if (ex.slots !== null) TRACE.get(ex)?.over(ex)
    const error = ex.error
    // An exchange that ended before it had a status (the client went away) has that of its error.
    const status = ex.status === 0 && error !== null ? ERRORS[error].status : ex.status
    const reason = error !== null ? REASON_INDEX.get(error)! : ex.localReply !== null ? 1 : 0
    const totals = this.#totals ?? this.#makeTotals()
    totals.duration.observe(durationMs / 1000)
    totals.bytesIn.add(ex.bytesReceived)
    totals.bytesOut.add(ex.bytesSent)
    const backend = ex.backend ?? ''
    const last = this.#last
    const series = last !== null && last.backend === backend ? last : this.#select(backend)
    series.count(METHOD_INDEX.get(ex.method) ?? 0, status, reason)
    if (ex.firstByteAt !== 0) series.firstByte(ex.firstByteAt - ex.startedAt)
    if (ex.llm !== null) {
      this.#models.record(ex, this.#labels.route, status, durationMs)
      if (this.#spend.isOn) this.#spend.record(ex, this.#labels.route, status, durationMs, this.#content)
    } else if (this.#labels.asksModels === true && this.#spend.isOn && isRefusedCall(ex)) {
      this.#spend.record(ex, this.#labels.route, status, durationMs)
    }
    if (ex.mcp !== null) this.#mcp.record(ex, this.#labels.route, status, durationMs)
    if (this.#records !== null) this.#records.record(ex, status, durationMs)
    if (this.#accessLog.enabled) this.#log(ex, status, reason, durationMs)
  }

  recordCall(call: Exchange): void {
    const durationMs = performance.now() - call.startedAt
    const status = call.status === 0 && call.error !== null ? ERRORS[call.error].status : call.status
    const { route } = this.#labels
    // No guard has seen what a copy was answered: nothing of it is kept.
    this.#sideCalls.record(call, route, status, durationMs)
    if (this.#spend.isOn) this.#spend.record(call, route, status, durationMs)
  }

  callDropped(purpose: string): void {
    this.#sideCalls.dropped(this.#labels.route, purpose)
  }

  #log(ex: Exchange, status: number, reason: number, durationMs: number): void {
    const plan = this.#plan
    const waiting = plan === null || plan.elsewhere === null ? null : plan.elsewhere(ex)
    if (waiting === null) this.#line(ex, status, reason, durationMs, plan)
    else void waiting.then((known) => this.#line(ex, status, reason, durationMs, { ...plan!, ...known }))
  }

  #line(ex: Exchange, status: number, reason: number, durationMs: number, plan: AccessLogPlan | null): void {
    if (plan !== null && !this.#accessLog.wants(ex, plan)) return
    this.#logPrefix ??= this.#accessLog.prefix(this.#labels, plan)
    // The upstream's own answer is the rule; a line says a reason only when there is something to say.
    this.#accessLog.write(ex, this.#logPrefix, status, reason === 0 ? '' : REASONS[reason]!, durationMs, plan)
  }

  /** `backend` is a name from the configuration, so the number of these is bounded by it. */
  #select(backend: string): BackendSeries {
    const last = this.#last
    if (last !== null) this.#backends ??= new Map([[last.backend, last]])
    let series = this.#backends?.get(backend)
    if (series === undefined) {
      const labels = { port: this.#port, listener: this.#labels.listener, route: this.#labels.route, backend }
      series = new BackendSeries(this.#metrics, labels)
      this.#backends?.set(backend, series)
    }
    this.#last = series
    return series
  }

  #makeTotals(): RouteTotals {
    const labels = { route: this.#labels.route }
    this.#totals = {
      duration: this.#metrics.histogram('weir_request_duration_seconds', labels),
      bytesIn: this.#metrics.counter('weir_request_bytes_total', labels),
      bytesOut: this.#metrics.counter('weir_response_bytes_total', labels)
    }
    return this.#totals
  }
}

/** A policy or a guard has refused a call of somebody who may call. Who shows no good key would fill the records. */
function isRefusedCall({ error }: Exchange): boolean {
  return error !== null && ERRORS[error].source === 'policy' && ERRORS[error].status !== 401
}

interface RouteTotals {
  readonly duration: Histogram
  readonly bytesIn: Counter
  readonly bytesOut: Counter
}

interface BackendLabels {
  readonly port: string
  readonly listener: string
  readonly route: string
  readonly backend: string
}

/** The series of one route and one backend ('' when none was chosen). */
class BackendSeries {
  readonly backend: string
  readonly #metrics: Metrics
  readonly #labels: BackendLabels
  readonly #outcomes = new Map<number, Counter>()
  #lastKey = -1
  #lastCounter: Counter | null = null
  #other: Counter | null = null
  #firstByte: Histogram | null = null

  constructor(metrics: Metrics, labels: BackendLabels) {
    this.backend = labels.backend
    this.#metrics = metrics
    this.#labels = labels
  }

  count(method: number, status: number, reason: number): void {
    // Statuses have three digits, methods fit in four bits: one small integer names the outcome.
    const key = (reason * 16 + method) * 1024 + status
    if (key !== this.#lastKey || this.#lastCounter === null) {
      this.#lastKey = key
      this.#lastCounter = this.#outcomes.get(key) ?? this.#make(key, method, status, reason)
    }
    this.#lastCounter.add(1)
  }

  firstByte(ms: number): void {
    this.#firstByte ??= this.#metrics.histogram('weir_upstream_first_byte_seconds', {
      route: this.#labels.route,
      backend: this.backend
    })
    this.#firstByte.observe(ms / 1000)
  }

  #make(key: number, method: number, status: number, reason: number): Counter {
    if (this.#outcomes.size >= OUTCOMES_MAX) {
      // A backend may invent hundreds of statuses. They are still counted, together.
      const other = { ...this.#labels, method: 'other', status: 'other', reason: 'other' }
      this.#other ??= this.#metrics.counter('weir_requests_total', other)
      return this.#other
    }
    const counter = this.#metrics.counter('weir_requests_total', {
      ...this.#labels,
      method: METHODS[method]!,
      status: String(status),
      reason: REASONS[reason]!
    })
    this.#outcomes.set(key, counter)
    return counter
  }
}
