/** Time per call of hot functions: runs every file of bench/micro. */
import { readdirSync } from 'node:fs'
import { Bench, type Fn } from 'tinybench'

/** Samples per task at most: they are kept until the task is done. */
const ITERATIONS_MAX = 1_000_000

/** What a file of bench/micro exports. */
interface MicroFile {
  /** Adds its tasks, named "<file>: <what>". */
  readonly register: (bench: Bench) => void
  /** Calls per run of a task, for functions that are shorter than the clock can tell; 1 when missing. */
  readonly calls?: number
}

export interface MicroRow {
  readonly task: string
  /** Nanoseconds per call. */
  readonly medianNs: number
  readonly p99Ns: number
  readonly samples: number
}

export interface MicroTiming {
  /** Per task. */
  readonly ms: number
  readonly warmupMs: number
  /** Calls per task at least. */
  readonly iterations: number
}

/** Files of bench/micro that hold benches. */
export function microFiles(): URL[] {
  const folder = new URL('./micro/', import.meta.url)
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  return files.sort().map((name) => new URL(name, folder))
}

/** Takes the tasks of a file without running them. */
class Collector extends Bench {
  readonly collected: { readonly name: string; readonly fn: Fn }[] = []

  override add(name: string, fn: Fn): this {
    this.collected.push({ name, fn })
    return this
  }
}

/** Runs all tasks of `file`. Throws what a task throws. */
export async function runMicro(file: URL, timing: MicroTiming): Promise<MicroRow[]> {
  const { register, calls = 1 } = (await import(file.href)) as MicroFile
  const collector = new Collector()
  register(collector)
  const rows: MicroRow[] = []
  for (const { name, fn } of collector.collected) {
    const iterations = await iterationsFor(fn, timing)
    const bench = new Bench({ time: 0, iterations, warmup: false, throws: true }).add(name, fn)
    const [task] = await bench.run()
    if (task?.result.state !== 'completed') throw new Error(`${name} did not complete: ${task?.result.state}`)
    const { p50, p99, samplesCount } = task.result.latency
    const ns = 1e6 / calls
    rows.push({ task: name, medianNs: p50 * ns, p99Ns: p99 * ns, samples: samplesCount })
  }
  return rows
}

/**
 * Warms `fn` up and says how often it runs in timing.ms of the wall clock. tinybench's own limit adds
 * up what samples report: a task that reports the mean of 1,000 calls would run 1,000 times too long.
 */
async function iterationsFor(fn: Fn, timing: MicroTiming): Promise<number> {
  for (let iterations = 1; ; iterations *= 2) {
    const start = performance.now()
    for (let i = 0; i < iterations; i++) await fn()
    const ms = performance.now() - start
    if (ms < timing.warmupMs && iterations < ITERATIONS_MAX) continue
    const fitting = Math.round((iterations * timing.ms) / Math.max(ms, 0.001))
    return Math.min(ITERATIONS_MAX, Math.max(timing.iterations, fitting))
  }
}
