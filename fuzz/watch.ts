/** The watching side of the fuzzer: runs one target in a thread, notices crashes and hangs, keeps their inputs. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CurrentInput, type Job, type Report, SHARED_BYTES } from './current.ts'
import { RUN_MS_MAX } from './target.ts'

/** A target that needs more has a leak, or makes much out of little. */
const MEMORY_MB_MAX = 512

export interface Outcome {
  readonly runs: number
  /** What went wrong, or null. */
  readonly fault: string | null
  /** Where the input of the fault was written, or null without one. */
  readonly file: string | null
}

export type Request = Omit<Job, 'shared'>

/** Fuzzes one target for the given time, or until its first fault. Rejects only if the target cannot be loaded. */
export async function fuzz(request: Request): Promise<Outcome> {
  const shared = new SharedArrayBuffer(SHARED_BYTES)
  const current = new CurrentInput(shared)
  const report = await watch(request, shared, current)
  if (report.kind === 'done') return { runs: report.runs, fault: null, file: null }
  const fault = report.kind === 'crash' ? report.error : `one run took longer than ${RUN_MS_MAX} ms`
  return { runs: report.runs, fault, file: keep(request, current.read()) }
}

async function watch(request: Request, shared: SharedArrayBuffer, current: CurrentInput): Promise<Report> {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: { ...request, shared } satisfies Job,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX }
  })
  const { promise, resolve, reject } = Promise.withResolvers<Report>()
  let last = 0
  const timer = setInterval(() => {
    // Zero: still loading.
    if (current.counter === last && last !== 0) resolve({ kind: 'slow', runs: last })
    last = current.counter
  }, RUN_MS_MAX)
  worker.once('message', resolve)
  worker.once('error', (error: Error) => {
    if (current.counter === 0) reject(error)
    else resolve({ kind: 'crash', runs: current.counter, error: error.stack ?? error.message })
  })
  worker.once('exit', (code) => resolve({ kind: 'crash', runs: current.counter, error: `exit with code ${code}` }))
  try {
    return await promise
  } finally {
    clearInterval(timer)
    await worker.terminate()
  }
}

/** Writes the input of a fault into the corpus, where every test run replays it. Returns the path. */
function keep({ corpus, file }: Request, input: Buffer): string {
  const folder = join(corpus, basename(file, '.ts'))
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `crash-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`)
  writeFileSync(path, input)
  return path
}
