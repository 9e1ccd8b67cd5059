/** All observability data of one worker thread: the parts, composed, under one roof. */

import { randomUUID } from 'node:crypto'
import type { AccessLogPlan, LogRecordsPlan } from '#engine/contract/access-log.ts'
import type { StateWatch } from '#engine/contract/accounts.ts'
import type { Background } from '#engine/contract/background.ts'
import type { ContentReader } from '#engine/contract/kept-content.ts'
import type { MetricsPlan } from '#engine/contract/otlp.ts'
import type { MirrorRecorder, Recorder, RecorderLabels } from '#engine/contract/route.ts'
import type { ServiceRecorder } from '#engine/contract/service.ts'
import type { ExportSpend } from '#engine/contract/spend.ts'
import type { TcpRecorder } from '#engine/contract/tcp.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import type { Tracer, TracingPlan } from '#engine/contract/tracing.ts'
import { SpendRecorder, type SpendRecorderOptions } from '#engine/spend/recorder.ts'
import { SpendSinks } from '#engine/spend/sinks.ts'
import { AccessLog } from './access-log.ts'
import { CopyRecorder } from './copy-recorder.ts'
import { downstreamTelemetry, type Handshake } from './downstream.ts'
import { LineSink } from './line-sink.ts'
import { createLogger, type Logger, type Logging } from './log.ts'
import { LogRecords } from './log-records.ts'
import { LoopDelay } from './loop-delay.ts'
import { McpMetrics } from './mcp-metrics.ts'
import { Metrics, type SeriesAnnouncement } from './metrics.ts'
import { type MetricChunk, MetricsExports } from './metrics-exports.ts'
import { ModelMetrics } from './model-metrics.ts'
import { type Environment, otelEnvironment } from './otlp/environment.ts'
import { Exporters } from './otlp/exporters.ts'
import { type RecorderParts, RouteRecorder } from './recorder.ts'
import { CallRecorder } from './service-recorder.ts'
import { SideCallMetrics } from './side-calls.ts'
import { stateMetrics } from './state-metrics.ts'
import { ConnectionRecorder } from './tcp-recorder.ts'
import { createTracing } from './tracing/tracing.ts'
import { type UpstreamTelemetry, upstreamTelemetry } from './upstream.ts'

export interface TelemetryOptions {
  /** REGION_BYTES, this worker's alone. */
  readonly region: SharedArrayBuffer
  /** Number of the worker; a label of its event-loop delay and a field of its log lines. */
  readonly worker: number
  /** Carries news of new series to the main thread (MetricsTable.attach). */
  readonly announce: (message: SeriesAnnouncement) => void
  readonly logging: Logging
  /** Where the access log goes; stdout by default. */
  readonly accessLogFd?: number
  /** Names this process in what collectors get (service.instance.id). Default: a name for this worker alone. */
  readonly instance?: string
  /** Asks the main thread for the metrics of all workers, for `takeMetrics`. */
  readonly askForMetrics?: () => void
  /** Takes records of model calls, to keep them. Default: they are not kept. */
  readonly postSpend?: SpendRecorderOptions['post'] | null
  /** Of prices. Default USD. */
  readonly currency?: () => string
  /** Default: that of the process. */
  readonly environment?: Environment
}

/** What binds tell about their connections. */
export interface DownstreamTelemetry {
  opened(port: number, transport: string): void
  closed(port: number, transport: string): void
  handshake(report: Handshake): void
  /** There were too many: one that waited for a request was closed, or the new one. */
  evicted(what: 'idle' | 'newcomer'): void
}

export interface Telemetry {
  readonly logger: Logger
  readonly metrics: Metrics
  readonly upstream: UpstreamTelemetry
  /** The recorder of a route. Made at build time; series of the same names continue over reloads. */
  recorderFor(labels: RecorderLabels, log?: AccessLogPlan | null, content?: ContentReader | null): Recorder
  /** As recorderFor, of connections whose bytes are passed on. */
  tcpRecorderFor(labels: RecorderLabels, log?: AccessLogPlan | null): TcpRecorder
  // What tracers and log records have gathered is sent when all this is closed.
  /** The tracer of a plan: the same one as long as a configuration is unchanged. Null: exports are off. */
  tracerFor(plan: TracingPlan, content?: ContentReader | null): Tracer | null
  /** The recorder of the copies that the mirrors of a route get. */
  mirrorRecorderFor(route: string): MirrorRecorder
  /** The recorder of the calls of a policy, or a kind of backend, to a service. */
  serviceRecorderFor(service: string, policy: string): ServiceRecorder
  /** Records exchanges that found no route. */
  readonly unrouted: Recorder
  readonly downstream: DownstreamTelemetry
  /** An expression of a policy failed, or gave what cannot be used. */
  expressionFailed(policy: string): void
  /** Counts a job for a helper thread that was not done. */
  jobLost(lane: string, reason: string): void
  /** For a process with config.state.url. */
  stateWatch(): StateWatch
  /** Counts what could not be done with whose an object of a provider is. */
  ownersFailed(operation: string): void
  /** Changes what is logged; target "request" at level info is the access log. Throws on malformed directives. */
  setLogLevel(level: string): void
  /** Resolves when every access-log line up to now is written. Await it before the thread ends. */
  flush(): Promise<void>
  /**
   * Asks for the metrics of all workers while the configuration that has this plan is in force, and sends them. Null:
   * exports are off.
   */
  exportMetrics(plan: MetricsPlan): Background | null
  /** The metrics of all workers have come. */
  takeMetrics(chunks: readonly MetricChunk[]): void
  /** The oldest batch of records of model calls has been dealt with. */
  spendTaken(outcome: { readonly count: number; readonly kept: number }): void
  /** Sends records of model calls while a configuration is in force. */
  readonly exportSpend: ExportSpend
  /** Ends sampling, writes the lines and sends what is left for collectors. Nothing may be recorded after it. */
  close(): Promise<void>
}

/** Throws an Error if the log directives are malformed. */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { worker, logging } = options
  const metrics = new Metrics(options.region, options.announce)
  const logger = createLogger({ ...logging, fields: { worker } })
  const sink = createSink(options.accessLogFd ?? 1, metrics, logger)
  const accessLog = new AccessLog(logging.format, sink, logger.enabled('info', 'request'), metrics)
  const { isDisabled, resource } = otelEnvironment(options.environment ?? process.env)
  const exporters = new Exporters(metrics, options.instance ?? randomUUID(), resource, SYSTEM_TIME)
  const parts: RecorderParts = {
    metrics,
    accessLog,
    models: new ModelMetrics(metrics),
    sideCalls: new SideCallMetrics(metrics),
    mcp: new McpMetrics(metrics),
    spend: spendSinks(options, metrics),
    logRecords: isDisabled ? () => null : logRecordsOf(exporters, metrics)
  }
  const loopDelay = new LoopDelay(metrics, worker)
  // For an unannounced exit, such as an uncaught exception.
  const onExit = () => sink.flushSync()
  process.on('exit', onExit)

  const recorderFor: Telemetry['recorderFor'] = (labels, log = null, content = null) =>
    new RouteRecorder(parts, log, labels, content)

  const expressionFailed = (policy: string) => metrics.counter('weir_expression_failures_total', { policy }).add(1)
  const tracerFor = createTracing(exporters, () => expressionFailed('tracing'), SYSTEM_TIME)
  const exports = new MetricsExports(exporters, options.askForMetrics ?? (() => {}), SYSTEM_TIME)

  return {
    logger,
    metrics,
    upstream: upstreamTelemetry(metrics, logger),
    recorderFor,
    tracerFor: isDisabled ? () => null : tracerFor,
    exportMetrics: (plan) => (isDisabled ? null : exports.backgroundOf(plan)),
    takeMetrics: (chunks) => exports.take(chunks),
    spendTaken: (outcome) => parts.spend.recorder?.taken(outcome),
    exportSpend: (plan) => parts.spend.export(plan),
    tcpRecorderFor: (labels, log = null) => new ConnectionRecorder(parts, log, labels),
    mirrorRecorderFor: (route) => new CopyRecorder(metrics, route),
    serviceRecorderFor: (service, policy) => new CallRecorder(metrics, service, policy),
    unrouted: recorderFor({ route: '', listener: '', port: 0 }),
    downstream: downstreamTelemetry(metrics, logger),
    stateWatch: () => stateMetrics(metrics),
    ownersFailed: (operation) => metrics.counter('weir_state_object_failures_total', { operation }).add(1),
    jobLost: (lane, reason) => metrics.counter('weir_offload_jobs_lost_total', { lane, reason }).add(1),
    expressionFailed,
    setLogLevel: (level) => {
      logger.setLevel(level)
      accessLog.enabled = logger.enabled('info', 'request')
    },
    flush: () => sink.flush(),
    close: async () => {
      loopDelay.close()
      await Promise.all([parts.spend.close(), exporters.close()])
      await sink.flush()
      process.off('exit', onExit)
    }
  }
}

/** One for each plan: recorders of all routes share it. */
function logRecordsOf(exporters: Exporters, metrics: Metrics): RecorderParts['logRecords'] {
  const known = new WeakMap<LogRecordsPlan, LogRecords>()
  const failed = (part: 'filter' | 'attribute', count: number) =>
    metrics.counter('weir_access_log_failures_total', { part }).add(count)
  return (plan) => {
    const records = plan?.records ?? null
    if (records === null) return null
    const made = known.get(records) ?? new LogRecords(records, exporters.exporterFor(records, 'logs'), failed)
    known.set(records, made)
    return made
  }
}

function spendSinks({ postSpend = null, currency = () => 'USD' }: TelemetryOptions, metrics: Metrics): SpendSinks {
  const kept = (result: string, rows: number) => metrics.counter('weir_spend_records_total', { result }).add(rows)
  return new SpendSinks({
    recorder: postSpend === null ? null : new SpendRecorder({ post: postSpend, count: kept }),
    time: SYSTEM_TIME,
    count: (result, records) => metrics.counter('weir_spend_exported_total', { result }).add(records),
    currency,
    now: Date.now
  })
}

function createSink(fd: number, metrics: Metrics, logger: Logger): LineSink {
  const dropped = metrics.counter('weir_access_log_dropped_total', {})
  let isLogged = false
  return new LineSink({
    fd,
    onDropped: (lines, why) => {
      dropped.add(lines)
      // Once: an output that stays broken must not fill the other one. The counter has the rest.
      if (!isLogged) logger.log('warn', 'access_log', 'access log lines are being dropped', { why })
      isLogged = true
    }
  })
}
