/** What is known of connections to backends, and of their addresses. */
import type { AddressState } from '#engine/contract/endpoint.ts'
import { LineBudget } from '#engine/kit/line-budget.ts'
import type { Fields, Logger } from './log.ts'
import type { Gauge, Metrics } from './metrics.ts'

/** Lines about addresses that one worker writes: of a fleet whose addresses come and go by the second, some. */
const LINES_PER_WINDOW = 50
const WINDOW_MS = 60_000
const STATES = ['healthy', 'unreachable', 'unhealthy', 'ejected'] as const satisfies readonly AddressState[]

/** How it is in a worker. */
export interface Sample {
  /** Connections to backends. */
  readonly idle: number
  readonly busy: number
  /** Bytes of bodies that are kept. */
  readonly heldBytes: number
  /** How often there was no room for more, since the start. */
  readonly heldRefused: number
}

/** One address of a backend. */
interface Address {
  readonly destination: string
  /** The destination in metrics. */
  readonly metricLabel: string
  readonly address: string
}

interface Ejected extends Address {
  readonly reason: string
  readonly ms: number
}

interface Checked extends Address {
  /** Null: it passed. */
  readonly finding: string | null
  /** Not null: it has become so. */
  readonly isHealthy: boolean | null
  /** How long it was unhealthy. */
  readonly unhealthyMs: number
}

/** What the upstream client tells about its connections. */
export interface UpstreamTelemetry {
  connected(): void
  /** A TLS handshake with a backend is done. */
  secured(resumed: boolean): void
  connectFailed(): void
  /** What is wrong with the TLS of a destination. */
  insecure(destination: string, reason: string): void
  /** An address of a backend gets no requests for `ms`. */
  ejected(address: Ejected): void
  /** That time is over. */
  returned(address: Ejected): void
  /** An active check of an address is over. */
  checked(check: Checked): void
  /** Something was refused: as much was under way to a backend as may be. */
  overflowed(metricLabel: string, kind: string): void
  /** The addresses of a destination by state, if it is this worker that reports them; null: it is not. */
  counted(destination: string, counts: Readonly<Record<AddressState, number>> | null): void
  /** The unhealthyCondition of a backend has failed. */
  expressionFailed(): void
  /** How it is now; counted by the worker twice a second, not by every exchange. */
  sample(now: Sample): void
  /** An exchange starts another attempt. */
  retried(): void
  /** An exchange would have started another attempt, but the retry budget of its route is spent. */
  refused(): void
}

export function upstreamTelemetry(
  metrics: Metrics,
  logger: Pick<Logger, 'log'>,
  clock: () => number = () => performance.now()
): UpstreamTelemetry {
  const bufferedBytes = metrics.gauge('weir_buffered_bytes', {})
  const heldRefused = metrics.counter('weir_buffered_refusals_total', {})
  let heldRefusedBefore = 0
  const busy = metrics.gauge('weir_upstream_connections', { state: 'busy' })
  const idle = metrics.gauge('weir_upstream_connections', { state: 'idle' })
  const ok = metrics.counter('weir_upstream_connects_total', { result: 'ok' })
  const failed = metrics.counter('weir_upstream_connects_total', { result: 'failed' })
  const full = metrics.counter('weir_upstream_tls_handshakes_total', { resumed: 'false' })
  const resumed = metrics.counter('weir_upstream_tls_handshakes_total', { resumed: 'true' })
  const retries = metrics.counter('weir_upstream_retries_total', {})
  const refused = metrics.counter('weir_upstream_retries_refused_total', {})
  const gauges = new Map<string, readonly Gauge[]>()
  const budget = new LineBudget(LINES_PER_WINDOW, WINDOW_MS, (leftOut) =>
    logger.log('warn', 'upstream', `${leftOut} more lines about addresses of backends were left out`)
  )
  const say = (level: 'info' | 'warn', what: string, fields: Fields & Pick<Address, 'destination' | 'address'>) => {
    const { destination, address } = fields
    if (budget.take(clock())) logger.log(level, 'upstream', `${destination}: ${address} ${what}`, fields)
  }
  return {
    connected: () => ok.add(1),
    secured: (isResumed) => (isResumed ? resumed : full).add(1),
    connectFailed: () => failed.add(1),
    insecure: (destination, reason) => logger.log('warn', 'upstream', `no TLS with ${destination}: ${reason}`),
    ejected: ({ destination, metricLabel, address, reason, ms }) => {
      metrics.counter('weir_upstream_ejections_total', { destination: metricLabel, reason }).add(1)
      say('warn', `is left out for ${seconds(ms)}`, { destination, address, reason })
    },
    returned: ({ destination, address, reason, ms }) =>
      say('info', `is used again, ${seconds(ms)} after it was left out`, { destination, address, reason }),
    checked: ({ destination, metricLabel, address, finding, isHealthy, unhealthyMs }) => {
      const named = { destination, address }
      if (isHealthy === null) {
        const result = finding === null ? 'ok' : 'failed'
        metrics.counter('weir_upstream_checks_total', { destination: metricLabel, result }).add(1)
      } else if (isHealthy) say('info', `is healthy again after ${seconds(unhealthyMs)}, by its health checks`, named)
      else say('warn', `is unhealthy and left out, by its health checks: ${finding}`, named)
    },
    counted: (destination, counts) => {
      const known = gauges.get(destination)
      if (counts !== null) {
        const all = known ?? STATES.map((state) => metrics.gauge('weir_upstream_addresses', { destination, state }))
        gauges.set(destination, all)
        for (const [i, gauge] of all.entries()) gauge.set(counts[STATES[i]!])
      } else if (known !== undefined) {
        gauges.delete(destination)
        for (const state of STATES) metrics.forgetGauge('weir_upstream_addresses', { destination, state })
      }
    },
    overflowed: (metricLabel, kind) => {
      metrics.counter('weir_upstream_overflows_total', { destination: metricLabel, kind }).add(1)
    },
    expressionFailed: () => metrics.counter('weir_expression_failures_total', { policy: 'health' }).add(1),
    sample: (now) => {
      budget.look(clock())
      idle.set(now.idle)
      busy.set(now.busy)
      bufferedBytes.set(now.heldBytes)
      heldRefused.add(now.heldRefused - heldRefusedBefore)
      heldRefusedBefore = now.heldRefused
    },
    retried: () => retries.add(1),
    refused: () => refused.add(1)
  }
}

const seconds = (ms: number): string => `${ms / 1000} s`
