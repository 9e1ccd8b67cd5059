/** Time per call of hot functions: runs every file of bench/micro. */
import { readdirSync } from 'node:fs'
import { Bench } from 'tinybench'

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

/** Runs all tasks of `file`. Throws what a task throws. */
export async function runMicro(file: URL, timing: MicroTiming): Promise<MicroRow[]> {
  const { register, calls = 1 } = (await import(file.href)) as MicroFile
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
    const ns = 1e6 / calls
    rows.push({ task: task.name, medianNs: p50 * ns, p99Ns: p99 * ns, samples: samplesCount })
  }
  return rows
}
