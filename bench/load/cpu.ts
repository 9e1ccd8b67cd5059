/** CPU time and memory of processes, from the kernel's own accounts under /proc (Linux only). */
import { readdirSync, readFileSync } from 'node:fs'

/** Kernel clock ticks per second in /proc/<pid>/stat: fixed at 100 for user space on Linux. */
const TICKS_PER_SECOND = 100

/**
 * CPU time of all living threads of `pid` in nanoseconds. From schedstat where the kernel keeps it:
 * precise to the nanosecond for threads that sleep, and at most one scheduler tick old for one that
 * runs. Otherwise from stat, in steps of 10 ms. Throws when the process is gone.
 */
export function cpuNs(pid: number): number {
  let total = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readIfThere(`/proc/${pid}/task/${thread}/schedstat`)
    if (text === null) return cpuNsFromStat(pid)
    total += Number.parseInt(text, 10)
  }
  return total
}

function cpuNsFromStat(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The program's name may hold blanks and brackets: fields are counted behind its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e9) / TICKS_PER_SECOND
}

/** Resident bytes of `pid`. Throws when the process is gone. */
export function rssBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1')
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(text)
  if (match === null) throw new Error(`process ${pid} has no resident memory: it has ended`)
  return Number(match[1]) * 1024
}

/** `pid` and all its descendants: nginx serves from worker processes. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const text = readIfThere(`/proc/${name}/stat`)
    if (text === null) continue
    const parent = Number(text.slice(text.lastIndexOf(')') + 4).split(' ')[0])
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [Number(name)])
    else siblings.push(Number(name))
  }
  const tree = [pid]
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i]!) ?? []))
  return tree
}

/** Both accounts of several processes, added up. */
export function usageOf(pids: readonly number[]): { cpuNs: number; rssBytes: number } {
  let cpu = 0
  let rss = 0
  for (const pid of pids) {
    cpu += cpuNs(pid)
    rss += rssBytes(pid)
  }
  return { cpuNs: cpu, rssBytes: rss }
}

/** Null when the file does not exist: threads and processes end while they are listed. */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return null
    throw error
  }
}
