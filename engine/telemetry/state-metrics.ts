/** Metrics of the server of config.state.url, as workers see it. */
import type { StateWatch } from '#engine/contract/accounts.ts'
import type { Metrics } from './metrics.ts'

export function stateMetrics(metrics: Metrics): StateWatch {
  const connections = metrics.gauge('weir_state_connections', {})
  const duration = metrics.histogram('weir_state_duration_seconds', {})
  const failures = metrics.counter('weir_state_failures_total', {})
  return {
    connected: (isUp) => connections.set(isUp ? 1 : 0),
    answered: (seconds) => duration.observe(seconds),
    failed: () => failures.add(1),
    uncounted: (outcome) => metrics.counter('weir_state_uncounted_calls_total', { outcome }).add(1)
  }
}
