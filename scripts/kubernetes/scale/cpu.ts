/** How much time of the processors the programs of a cluster take. */
import { readdirSync, readFileSync } from 'node:fs'

/** Of /proc: USER_HZ. */
const TICKS_PER_SECOND = 100

/** Processes by the names of their programs ("etcd"). */
export function processesOf(program: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/comm`).trim() === program)
    .map(Number)
}

/** Seconds that a process has taken so far, by proc(5); 0 for one that is gone. */
export function secondsOf(pid: number): number {
  // The name of the program may have blanks; behind it come the fields from the third.
  const [, rest = ''] = textOf(`/proc/${pid}/stat`).split(') ')
  const [user = '0', system = '0'] = rest.split(' ').slice(11, 13)
  return (Number(user) + Number(system)) / TICKS_PER_SECOND
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The process has ended meanwhile.
    return ''
  }
}
