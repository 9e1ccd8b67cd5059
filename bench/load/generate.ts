/**
 * The generator as a process of its own, so that it can be pinned to a core and so that its garbage
 * is not the bench's. It stays for many runs: compiled code is then warm in each. Every message is an
 * Order, every answer a Report.
 */
import { usageOf } from './cpu.ts'
import { type ExpectedName, expectedOf } from './expected.ts'
import { runClosed } from './generator/closed.ts'
import { runFirst } from './generator/first.ts'
import { runHold } from './generator/hold.ts'
import type { Expected, Job, Outcome, Usage } from './generator/job.ts'
import { runOpen } from './generator/open.ts'
import type { Learned } from './learned.ts'

export interface Order {
  readonly job: Job
  /** What every request must get. */
  readonly answer: ExpectedName | Learned
  /** Processes whose CPU time and memory are read at both ends of the window. */
  readonly pids: readonly number[]
}

export type Report = { readonly outcome: Outcome } | { readonly failed: string }

const RUNS: { [mode in Job['mode']]: (job: Job, expected: Expected, observe: () => Usage) => Promise<Outcome> } = {
  closed: runClosed,
  open: runOpen,
  hold: runHold,
  first: runFirst
}

async function obey({ job, answer, pids }: Order): Promise<Report> {
  try {
    const expected = expectedOf(answer)
    return { outcome: await RUNS[job.mode](job, expected, () => usageOf(pids)) }
  } catch (error) {
    // For example: the process under test has ended and can no longer be observed.
    return { failed: (error as Error).message }
  }
}

if (import.meta.main) {
  process.on('message', async (order: Order) => process.send!(await obey(order)))
  process.on('disconnect', () => process.exit(0))
}
