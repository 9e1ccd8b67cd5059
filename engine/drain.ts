/**
 * The end of the process, in order: readiness says no, new connections are still taken for the
 * minimum time (load balancers need it to notice), then none, exchanges finish, what is left at the
 * deadline is cut, logs are flushed.
 */
import type { Supervisor } from './workers/supervisor.ts'

/** How often the remaining connections are counted. */
const COUNT_MS = 50
/** A drained gateway counts this often as idle before it goes: counts come from the workers' beats. */
const IDLE_COUNTS = 3

export interface DrainOptions {
  readonly minMs: number
  readonly maxMs: number
  readonly log: (level: 'info' | 'warn', message: string) => void
}

/** Resolves when every worker has gone. */
export async function drain(supervisor: Supervisor, options: DrainOptions): Promise<void> {
  const deadline = performance.now() + Math.max(options.maxMs, options.minMs)
  supervisor.state.setDraining()
  if (options.minMs > 0) await pause(options.minMs)
  supervisor.drain()
  let idle = 0
  while (idle < IDLE_COUNTS && performance.now() < deadline) {
    idle = supervisor.connections === 0 ? idle + 1 : 0
    await pause(COUNT_MS)
  }
  const left = supervisor.connections
  if (left > 0) options.log('warn', `${left} connections are cut: the termination deadline is over`)
  await supervisor.stop()
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
