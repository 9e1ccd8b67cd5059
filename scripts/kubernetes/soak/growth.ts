/** What the soak has measured, as lines of a table, and whether something has grown. */
import type { ThreadMemory } from './probe.ts'

const THREADS = ['controller', 'main', 'worker'] as const
type ThreadName = (typeof THREADS)[number]

export interface Measured extends Readonly<Record<ThreadName, ThreadMemory>> {
  readonly changes: number
  /** Open ones. */
  readonly controllerFiles: number
  readonly dataPlaneFiles: number
}

/** The median of the last third of all measures may be above that of the second one by so much. */
const GROWTH_MAX = 0.02
/** Of handles and files, a few of which come and go with connections. */
const COUNT_GROWTH_MAX = 3
const MIB = 2 ** 20

/** A row: changes; heap + memory outside of it in MiB, and handles, of each thread; open files. */
export function lineOf(measured: Measured): string {
  const mib = (bytes: number) => (bytes / MIB).toFixed(1)
  const threads = THREADS.map((name) => {
    const { heapBytes, externalBytes, resources } = measured[name]
    return `${mib(heapBytes)} + ${mib(externalBytes)} (${resources})`
  })
  return `| ${[measured.changes, ...threads, measured.controllerFiles, measured.dataPlaneFiles].join(' | ')} |`
}

type Measure = (of: Measured) => number

const COUNTS: Readonly<Record<string, Measure>> = {
  ...Object.fromEntries(THREADS.map((name) => [`handles of ${name}`, (of: Measured) => of[name].resources])),
  'open files of the controller': (of) => of.controllerFiles,
  'open files of the data plane': (of) => of.dataPlaneFiles
}

/** The heap apart from what is outside of it: the worker's shared memory is more than all that grows. */
const BYTES: Readonly<Record<string, Measure>> = Object.fromEntries(
  THREADS.flatMap((name) => [
    [`heap of ${name}`, (of: Measured) => of[name].heapBytes],
    [`memory outside of the heap of ${name}`, (of: Measured) => of[name].externalBytes]
  ])
)

/** A sentence for each number that has grown; `all` in the order of time, at least nine. */
export function growthOf(all: readonly Measured[]): readonly string[] {
  const third = Math.floor(all.length / 3)
  const medians = (number: Measure) =>
    [all.slice(-2 * third, -third), all.slice(-third)].map((part) => median(part.map(number))) as [number, number]
  const bytes = Object.entries(BYTES).flatMap(([name, number]) => {
    const [before, last] = medians(number)
    const growth = last / before - 1
    return growth > GROWTH_MAX ? [`${name} has grown by ${(growth * 100).toFixed(1)} %`] : []
  })
  const counts = Object.entries(COUNTS).flatMap(([name, number]) => {
    const [before, last] = medians(number)
    return last - before > COUNT_GROWTH_MAX ? [`${name} have grown from ${before} to ${last}`] : []
  })
  return [...bytes, ...counts]
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}
