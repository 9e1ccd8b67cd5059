/** RECORD for connections whose bytes are passed on unread: counters and a line of the access log, once for each. */
import { performance } from 'node:perf_hooks'
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import type { RecorderLabels } from '#engine/contract/route.ts'
import type { TcpRecorder, TcpSession } from '#engine/contract/tcp.ts'
import type { LogRecords } from './log-records.ts'
import type { Counter, Histogram, Metrics } from './metrics.ts'
import type { RecorderParts } from './recorder.ts'

interface Totals {
  readonly duration: Histogram
  readonly bytesIn: Counter
  readonly bytesOut: Counter
}

export class ConnectionRecorder implements TcpRecorder {
  readonly #metrics: Metrics
  readonly #accessLog: RecorderParts['accessLog']
  readonly #records: LogRecords | null
  readonly #plan: AccessLogPlan | null
  readonly #labels: RecorderLabels
  /** By backend and reason: names of the configuration and of TCP_REASONS. */
  readonly #counters = new Map<string, Counter>()
  #totals: Totals | null = null
  #logPrefix: string | null = null

  constructor(parts: RecorderParts, plan: AccessLogPlan | null, labels: RecorderLabels) {
    this.#metrics = parts.metrics
    this.#accessLog = parts.accessLog
    this.#records = parts.logRecords(plan)
    this.#plan = plan
    this.#labels = labels
  }

  /** Called once, when the connection is over. */
  record(session: TcpSession): void {
    const durationMs = performance.now() - session.startedAt
    const totals = this.#totals ?? this.#makeTotals()
    totals.duration.observe(durationMs / 1000)
    totals.bytesIn.add(session.bytesReceived)
    totals.bytesOut.add(session.bytesSent)
    this.#counter(session.backend ?? '', session.reason ?? '').add(1)
    this.#records?.recordTcp(session, this.#labels, durationMs)
    if (!this.#accessLog.enabled) return
    this.#logPrefix ??= this.#accessLog.prefix(this.#labels, this.#plan)
    this.#accessLog.writeTcp(session, this.#logPrefix, durationMs, this.#plan)
  }

  #counter(backend: string, reason: string): Counter {
    const key = `${reason} ${backend}`
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      const { route, listener, port } = this.#labels
      const labels = { port: port === 0 ? '' : String(port), listener, route, backend, reason }
      counter = this.#metrics.counter('weir_tcp_connections_total', labels)
      this.#counters.set(key, counter)
    }
    return counter
  }

  #makeTotals(): Totals {
    const labels = { route: this.#labels.route }
    this.#totals = {
      duration: this.#metrics.histogram('weir_tcp_connection_duration_seconds', labels),
      bytesIn: this.#metrics.counter('weir_tcp_received_bytes_total', labels),
      bytesOut: this.#metrics.counter('weir_tcp_sent_bytes_total', labels)
    }
    return this.#totals
  }
}
