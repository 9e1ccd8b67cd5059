/** What the machine has, and how its cores are shared out. */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { findProgram } from './peers/program.ts'

export interface Placement {
  /** Core lists as taskset takes them; null: not pinned. */
  readonly proxy: string | null
  readonly load: string | null
  /** In words, for the report. */
  readonly note: string
}

/**
 * The proxy gets the first `threads` cores and backend and generator the rest. With too few cores
 * for that they share: CPU time per request stays comparable, latency does not.
 */
export function placement(threads: number, cores = cpus().length, taskset = findProgram('taskset')): Placement {
  if (taskset === null) return { proxy: null, load: null, note: 'not pinned: taskset is not installed' }
  if (cores < 2) return { proxy: null, load: null, note: 'not pinned: there is one core only' }
  const proxy = range(0, Math.min(threads, cores) - 1)
  const first = threads < cores ? threads : cores - 1
  const load = range(first, cores - 1)
  const shared = threads < cores ? '' : ' (shared)'
  return { proxy, load, note: `proxy on core ${proxy}, backend and generator on core ${load}${shared}` }
}

function range(first: number, last: number): string {
  return first === last ? String(first) : `${first}-${last}`
}

/** How many files a process may open at most: Node and the peers raise their limit up to it by themselves. */
export function filesMax(): number {
  const match = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))
  if (match === null) return 0
  return match[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(match[1])
}

export function cpuModel(): string {
  return `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`
}
