/**
 * The attacked side of the fuzzer: a thread that feeds inputs to one target until its time is over.
 * Before each run the input is copied to memory that the watching thread can read: when a run hangs
 * or takes the whole thread down, the input is still there.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { CurrentInput, type Job, type Report } from './current.ts'
import { Mutator } from './mutate.ts'
import { loadTarget, RUN_MS_MAX, readCorpus, type Target } from './target.ts'

/** Runs spent on making a crashing input smaller. */
const SHRINK_RUNS_MAX = 2000

class Attack {
  readonly #target: Target
  readonly #current: CurrentInput
  #runs = 0

  constructor(target: Target, current: CurrentInput) {
    this.#target = target
    this.#current = current
  }

  async run(job: Job): Promise<Report> {
    const mutator = new Mutator(job.seed, readCorpus(job.corpus, this.#target.name), this.#target.dictionary ?? [])
    const until = performance.now() + job.seconds * 1000
    for (let now = performance.now(); now < until; ) {
      const input = mutator.next()
      const fault = await this.#try(input)
      if (fault !== null) return this.#shrink(this.#current.read(), fault)
      const before = now
      now = performance.now()
      if (now - before > RUN_MS_MAX) return { kind: 'slow', runs: this.#runs }
    }
    return { kind: 'done', runs: this.#runs }
  }

  /** What the target threw at this input, or null. */
  async #try(input: Buffer): Promise<unknown> {
    this.#runs++
    this.#current.write(input)
    try {
      const pending = this.#target.run(input)
      if (pending !== undefined) await pending
      return null
    } catch (error) {
      return error ?? new Error('threw nothing')
    }
  }

  /** Takes pieces out of a crashing input for as long as it crashes in the same way. */
  async #shrink(input: Buffer, fault: unknown): Promise<Report> {
    const runs = this.#runs
    let smallest = input
    let left = SHRINK_RUNS_MAX
    for (let size = Math.max(1, input.length >> 1); size > 0; size >>= 1) {
      for (let at = 0; at < smallest.length && left > 0; left--) {
        const less = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
        const now = await this.#try(Buffer.from(less))
        if (now !== null && kindOf(now) === kindOf(fault)) smallest = less
        else at += size
      }
    }
    this.#current.write(smallest)
    return { kind: 'crash', runs, error: textOf(fault) }
  }
}

/** Errors of one kind come from the same fault: the same name, thrown at the same place. */
function kindOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  return `${fault.name} ${/\n\s+at .*/.exec(fault.stack ?? '')?.[0] ?? ''}`
}

function textOf(fault: unknown): string {
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)
}

if (parentPort !== null) {
  const job = workerData as Job
  const attack = new Attack(await loadTarget(job.file), new CurrentInput(job.shared))
  parentPort.postMessage(await attack.run(job))
}
