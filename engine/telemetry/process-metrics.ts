/** Metrics of a process, whatever it does. */
import type { Metrics } from './metrics.ts'

export interface ProcessMetrics {
  /** Brings them up to date. */
  readonly measure: () => void
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

/** `version`: of the program. */
export function processMetrics(own: Metrics, version: string): ProcessMetrics {
  own.gauge('weir_build_info', { version, node: process.versions.node }).set(1)
  // Wall clock minus uptime, once: computed at every scrape it would wander with the clock.
  const startedAt = Math.round(Date.now() / 1000 - process.uptime()) * 1000
  own.gauge('weir_process_start_time_seconds', {}).set(startedAt / 1000)
  const memory = own.gauge('weir_process_resident_memory_bytes', {})
  const cpu = own.counter('weir_process_cpu_seconds_total', {})
  let cpuSeconds = 0
  const measure = () => {
    memory.set(process.memoryUsage.rss())
    const { user, system } = process.cpuUsage()
    const seconds = (user + system) / 1e6
    cpu.add(seconds - cpuSeconds)
    cpuSeconds = seconds
  }
  return { measure, startedAt }
}
