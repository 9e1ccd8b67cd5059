/** Metrics of a process, whatever it does, by the names that Prometheus' own clients have for them. */
import { readdirSync, readFileSync } from 'node:fs'
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
  own.gauge('process_start_time_seconds', {}).set(startedAt / 1000)
  const memory = own.gauge('process_resident_memory_bytes', {})
  const cpu = own.counter('process_cpu_seconds_total', {})
  const open = own.gauge('process_open_fds', {})
  own.gauge('process_max_fds', {}).set(descriptorsMax())
  let cpuSeconds = 0
  const measure = () => {
    memory.set(process.memoryUsage.rss())
    open.set(descriptors())
    const { user, system } = process.cpuUsage()
    const seconds = (user + system) / 1e6
    cpu.add(seconds - cpuSeconds)
    cpuSeconds = seconds
  }
  return { measure, startedAt }
}

/** Of this process; 0 where the system has no /proc. */
function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}

function descriptorsMax(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
