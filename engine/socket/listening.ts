/** Who else listens on a port: listeners share theirs (SO_REUSEPORT), so the system refuses nothing. */
import { readFileSync } from 'node:fs'

/** State LISTEN in the tables of the kernel (proc(5), /proc/net/tcp). */
const LISTEN = '0A'
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']

/** Of `ports` those on which a process listens; none where the system does not say. */
export function listenedOn(ports: readonly number[], read: (path: string) => string = readTable): number[] {
  const taken = new Set<number>()
  for (const path of TABLES) {
    for (const line of read(path).split('\n').slice(1)) {
      const [, local = '', , state] = line.trim().split(/\s+/)
      if (state === LISTEN) taken.add(Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16))
    }
  }
  return ports.filter((port) => taken.has(port))
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Not Linux, or no IPv6: nothing is known.
    return ''
  }
}
