/** The bench's end of the generator process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order, Report } from './generate.ts'
import type { Outcome } from './generator/job.ts'

export interface Generator {
  /** Runs `order`; one at a time. Rejects when the generator or what it observes has ended. */
  run(order: Order): Promise<Outcome>
  stop(): Promise<void>
}

/** Starts a generator pinned to `cores` (null: not pinned). It ends with the channel to this process. */
export function startGenerator(cores: string | null): Generator {
  const flags = ['--disable-warning=ExperimentalWarning']
  const program = fileURLToPath(new URL('./generate.ts', import.meta.url))
  const child =
    cores === null
      ? fork(program, [], { execArgv: flags })
      : fork(program, [], { execPath: 'taskset', execArgv: ['-c', cores, process.execPath, ...flags] })
  const gone = once(child, 'exit')
  return {
    async run(order) {
      const cancel = new AbortController()
      const reply = once(child, 'message', { signal: cancel.signal }).then(([report]) => report as Report)
      const lost = gone.then((): Report => ({ failed: 'the generator has ended' }))
      child.send(order)
      const report = await Promise.race([reply, lost])
      cancel.abort()
      await reply.catch(() => null)
      if ('failed' in report) throw new Error(report.failed)
      return report.outcome
    },
    async stop() {
      if (child.connected) child.disconnect()
      await gone
    }
  }
}
