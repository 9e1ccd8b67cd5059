/**
 * The access log as log records for a collector: one for each exchange and each connection that was passed on. The
 * attributes are named as those of spans, so that both can be searched alike.
 */
import { performance } from 'node:perf_hooks'
import type { LogRecordsPlan } from '#engine/contract/access-log.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { RecorderLabels } from '#engine/contract/route.ts'
import { TCP_REASONS, type TcpSession } from '#engine/contract/tcp.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import { ERROR, INFO, LogRecordWriter, RECORD_ATTRIBUTES } from './log-record-writer.ts'
import { type Attribute, compileAttributes, compileStableAttributes } from './otlp/attributes.ts'
import { micros } from './otlp/clock.ts'
import type { Exporter } from './otlp/exporter.ts'
import { MCP_ATTRIBUTES } from './tracing/mcp-span.ts'
import { MODEL_ATTRIBUTES } from './tracing/model-attributes.ts'
import {
  methodOf,
  RouteAttributes,
  SERVER_ATTRIBUTES,
  STABLE_SERVER_ATTRIBUTES,
  serverError
} from './tracing/server-span.ts'

/** LogRecord.event_name */
const REQUEST = 'weir.request'
const CONNECTION = 'weir.connection'

interface Served {
  readonly ex: Exchange
  readonly durationMs: number
}

/** What spans of a request do not have, since others of the trace have it, or their times say it. */
const ATTRIBUTES: readonly Attribute<Served>[] = [
  ['http.request.body.size', ({ ex }) => ex.bytesReceived],
  ['http.response.body.size', ({ ex }) => ex.bytesSent],
  ['http.request.resend_count', ({ ex }) => (ex.attempts > 1 ? ex.attempts - 1 : undefined)],
  ['weir.duration', ({ durationMs }) => durationMs / 1000],
  ['weir.tls.server_name', ({ ex }) => ex.client.tls?.serverName || undefined]
]

interface PassedOn {
  readonly session: TcpSession
  readonly labels: RecorderLabels
  readonly durationMs: number
}

const TCP_ATTRIBUTES: readonly Attribute<PassedOn>[] = [
  ['weir.listener', ({ labels }) => labels.listener || undefined],
  ['weir.route', ({ labels }) => labels.route || undefined],
  ['weir.route.rule', ({ labels }) => labels.rule || undefined],
  ['weir.backend', ({ session }) => session.backend ?? undefined],
  ['weir.endpoint', ({ session }) => session.endpoint ?? undefined],
  ['client.address', ({ session }) => session.remoteAddress || undefined],
  ['network.peer.address', ({ session }) => session.remoteAddress || undefined],
  ['network.peer.port', ({ session }) => session.remotePort || undefined],
  ['network.transport', () => 'tcp'],
  ['weir.tls.server_name', ({ session }) => session.serverName || undefined],
  ['error.type', ({ session }) => session.reason ?? undefined],
  ['weir.reason', ({ session }) => session.reason ?? undefined],
  ['weir.reason.detail', ({ session }) => (session.reason === null ? undefined : tcpDetail(session))],
  ['weir.bytes.received', ({ session }) => session.bytesReceived],
  ['weir.bytes.sent', ({ session }) => session.bytesSent],
  ['weir.duration', ({ durationMs }) => durationMs / 1000]
]

const tcpDetail = ({ reason, detail }: TcpSession): string => detail || TCP_REASONS[reason!]

/** Counts expressions that gave nothing of use. */
export type LogFailures = (part: 'filter' | 'attribute', count: number) => void

export class LogRecords {
  readonly #plan: LogRecordsPlan
  readonly #exporter: Exporter
  readonly #failed: LogFailures
  readonly #out = new LogRecordWriter()
  readonly #routes: RouteAttributes
  readonly #writeStable: (of: Exchange, out: LogRecordWriter) => void
  readonly #writeServer: (of: Exchange, out: LogRecordWriter) => void
  readonly #write: (of: Served, out: LogRecordWriter) => void
  readonly #writeModel: (of: Exchange, out: LogRecordWriter) => void
  readonly #writeMcp: (of: NonNullable<Exchange['mcp']>, out: LogRecordWriter) => void
  readonly #writeTcp: (of: PassedOn, out: LogRecordWriter) => void

  constructor(plan: LogRecordsPlan, exporter: Exporter, failed: LogFailures) {
    const { skip } = plan
    this.#plan = plan
    this.#exporter = exporter
    this.#failed = failed
    this.#routes = new RouteAttributes(skip, RECORD_ATTRIBUTES)
    this.#writeStable = compileStableAttributes(STABLE_SERVER_ATTRIBUTES, skip)
    this.#writeServer = compileAttributes(SERVER_ATTRIBUTES, skip)
    this.#write = compileAttributes(ATTRIBUTES, skip)
    this.#writeModel = compileAttributes(MODEL_ATTRIBUTES, skip)
    this.#writeMcp = compileAttributes(MCP_ATTRIBUTES, skip)
    this.#writeTcp = compileAttributes(TCP_ATTRIBUTES, skip)
  }

  /** An exchange is over. `status` as in the metrics. */
  record(ex: Exchange, status: number, durationMs: number): void {
    const { elsewhere } = this.#plan
    const waiting = elsewhere === null ? null : elsewhere(ex)
    const at = micros(performance.now())
    if (waiting === null) this.#add(ex, status, durationMs, at, this.#plan)
    else void waiting.then((known) => this.#add(ex, status, durationMs, at, known))
  }

  #add(
    ex: Exchange,
    status: number,
    durationMs: number,
    at: number,
    { filter, attributes }: Pick<LogRecordsPlan, 'filter' | 'attributes'>
  ): void {
    const verdict = filter === null || filter(ex)
    if (verdict === null) this.#failed('filter', 1)
    if (verdict !== true) return
    const out = this.#out
    const names = this.#routes.of(ex)
    const { skip } = this.#plan
    const target = skip.has('url.path') ? names.httpRoute : ex.originalPath
    const severity = serverError(ex) === undefined ? INFO : ERROR
    const trace = ex.slots === null || skip.has('trace.id') ? null : TRACE.get(ex)
    out.begin({ eventName: REQUEST, severity, body: `${methodOf(ex.method)} ${target} ${status}`, at, trace })
    out.encoded(names.attributes)
    this.#writeStable(ex, out)
    this.#writeServer(ex, out)
    this.#write({ ex, durationMs }, out)
    if (ex.llm !== null) this.#writeModel(ex, out)
    if (ex.mcp !== null) this.#writeMcp(ex.mcp, out)
    if (attributes !== null) {
      const failed = attributes(ex, out)
      if (failed > 0) this.#failed('attribute', failed)
    }
    this.#exporter.add(out.end())
  }

  /** A connection that was passed on is over. Filter and attributes are about requests. */
  recordTcp(session: TcpSession, labels: RecorderLabels, durationMs: number): void {
    const out = this.#out
    const body = `tcp ${session.backend ?? labels.listener} ${session.reason ?? 'ended'}`
    const at = micros(performance.now())
    out.begin({ eventName: CONNECTION, severity: INFO, body, at, trace: null })
    this.#writeTcp({ session, labels, durationMs }, out)
    this.#exporter.add(out.end())
  }
}
