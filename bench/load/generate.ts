/**
 * The generator as a process of its own, so that it can be pinned to a core and so that its garbage
 * is not the bench's: reads one Order as JSON from stdin, runs it, writes one Outcome as JSON to stdout.
 */
import { text } from 'node:stream/consumers'
import { ANSWERS, type AnswerName } from './backend/answers.ts'
import { usageOf } from './cpu.ts'
import { runClosed } from './generator/closed.ts'
import { runHold } from './generator/hold.ts'
import type { Expected, Job, Outcome, Usage } from './generator/job.ts'
import { runOpen } from './generator/open.ts'

export interface Order {
  readonly job: Job
  /** Which of the backend's answers every request must get, with status 200. */
  readonly answer: AnswerName
  /** Processes whose CPU time and memory are read at both ends of the window. */
  readonly pids: readonly number[]
}

const RUNS: { [mode in Job['mode']]: (job: Job, expected: Expected, observe: () => Usage) => Promise<Outcome> } = {
  closed: runClosed,
  open: runOpen,
  hold: runHold
}

if (import.meta.main) {
  const order = JSON.parse(await text(process.stdin)) as Order
  const expected = { status: 200, body: ANSWERS[order.answer] }
  const outcome = await RUNS[order.job.mode](order.job, expected, () => usageOf(order.pids))
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}
