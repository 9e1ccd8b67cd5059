/** Time per call of hot functions: runs every file of bench/micro. */
import { readdirSync } from 'node:fs'
import { Bench } from 'tinybench'

/** Every file of bench/micro exports this: adds its tasks, named "<file>: <what>". */
export type Register = (bench: Bench) => void

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

/** Runs all tasks of `file`. Throws what a task throws. */
export async function runMicro(file: URL, timing: MicroTiming): Promise<MicroRow[]> {
  const { register } = (await import(file.href)) as { register: Register }
  const bench = new Bench({
    time: timing.ms,
    iterations: timing.iterations,
    warmupTime: timing.warmupMs,
    warmupIterations: Math.min(16, timing.iterations),
    throws: true
  })
  register(bench)
  const rows: MicroRow[] = []
  for (const task of await bench.run()) {
    const { result } = task
    if (result.state !== 'completed') throw new Error(`${task.name} did not complete: ${result.state}`)
    const { p50, p99, samplesCount } = result.latency
    rows.push({ task: task.name, medianNs: p50 * 1e6, p99Ns: p99 * 1e6, samples: samplesCount })
  }
  return rows
}
