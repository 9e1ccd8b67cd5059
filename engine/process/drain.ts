/**
 * The end of the process, in order: readiness says no and answers say that their connection ends, new connections are
 * still taken for the minimum time (load balancers need it to notice), then none, exchanges finish, what is left at
 * the deadline is cut, logs are flushed.
 */
import type { Supervisor } from '#engine/workers/supervisor.ts'

export interface DrainOptions {
  /** How long new connections are still taken. */
  readonly minMs: number
  /** From the signal to the cut. */
  readonly maxMs: number
  readonly log: (level: 'info' | 'warn', message: string) => void
  /** Nothing is served any more, and workers are still there. */
  readonly onServed: () => Promise<void>
}

/** A timer that is set for longer rings at once; docs/specification.md#shutdown allows a year. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Resolves when every worker has gone: as soon as nothing is left, at the latest at the deadline. */
export async function drain(supervisor: Supervisor, options: DrainOptions): Promise<void> {
  const minMs = Math.min(options.minMs, TIMER_MS_MAX)
  const maxMs = Math.min(options.maxMs, TIMER_MS_MAX)
  supervisor.leave()
  if (minMs > 0) await new Promise((resolve) => setTimeout(resolve, minMs))
  await Promise.race([supervisor.drain(), deadline(supervisor, Math.max(maxMs - minMs, 0), options.log)])
  await options.onServed()
  await supervisor.stop()
}

function deadline(supervisor: Supervisor, afterMs: number, log: DrainOptions['log']): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      const left = supervisor.connections
      log('warn', `${left} ${left === 1 ? 'connection is' : 'connections are'} cut: the termination deadline is over`)
      resolve()
    }, afterMs)
    timer.unref()
  })
}
