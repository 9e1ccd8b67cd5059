/** Metrics of the main thread: what it counts itself, and the table of what its workers count. */
import { Metrics } from './metrics.ts'
import { MetricsTable, type Sums } from './metrics-table.ts'
import { processMetrics } from './process-metrics.ts'

/** The main thread has a handful of series; no need for a worker's region. */
const REGION_BYTES = 16 * 1024

const BUCKET_RESULTS = ['unknown', 'crowded', 'forgotten'] as const
type BucketResult = (typeof BUCKET_RESULTS)[number]

export interface ControlMetrics {
  /** Attach a worker's region when it starts, detach it when it has exited. */
  readonly table: MetricsTable
  /** A configuration was offered. `acceptedAtMs`: wall clock, when it was accepted; null: it was refused. */
  reloaded(acceptedAtMs: number | null): void
  /** Worker threads that serve now. */
  setWorkers(count: number): void
  workerRestarted(): void
  /** What the table of rate limit buckets has counted since the start. */
  setBuckets(counts: Readonly<Record<BucketResult, number>>): void
  /** Everything, in the Prometheus text format. */
  expose(): string
  /** The same as numbers. */
  sums(): Sums
  /** Of the process: milliseconds since 1970. */
  readonly startedAt: number
}

/** `version`: of the program. */
export function createControlMetrics(version: string): ControlMetrics {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const own = new Metrics(region, table.attach('main', region))
  const { measure, startedAt } = processMetrics(own, version)
  const succeeded = own.counter('weir_config_reloads_total', { result: 'success' })
  const failed = own.counter('weir_config_reloads_total', { result: 'failure' })
  const lastSuccess = own.gauge('weir_config_last_success_timestamp_seconds', {})
  const workers = own.gauge('weir_workers', {})
  const restarts = own.counter('weir_worker_restarts_total', {})
  const buckets = BUCKET_RESULTS.map((result) => ({
    result,
    counter: own.counter('weir_rate_limit_callers_total', { result }),
    seen: 0
  }))

  return {
    table,
    reloaded: (acceptedAtMs) => {
      if (acceptedAtMs === null) {
        failed.add(1)
        return
      }
      succeeded.add(1)
      lastSuccess.set(acceptedAtMs / 1000)
    },
    setWorkers: (count) => workers.set(count),
    workerRestarted: () => restarts.add(1),
    setBuckets: (counts) => {
      for (const entry of buckets) {
        // The table counts modulo 2^32.
        entry.counter.add((counts[entry.result] - entry.seen) >>> 0)
        entry.seen = counts[entry.result]
      }
    },
    expose: () => {
      measure()
      return table.expose()
    },
    sums: () => {
      measure()
      return table.sums()
    },
    startedAt
  }
}
