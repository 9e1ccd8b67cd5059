/** Which of the addresses of a destination is the best choice, and in what order they come. */
import type { Pool } from './pool.ts'
import type { Resolved } from './resolver.ts'

/** `family`: of the address that was tried last; another one is better. */
export function isBetter(pool: Pool, best: Pool, family: number): boolean {
  const ejected = pool.health.ejected
  if (ejected !== best.health.ejected) return !ejected
  if ((pool.family === family) !== (best.family === family)) return pool.family !== family
  return ejected ? pool.health.ejectedUntil < best.health.ejectedUntil : pool.busy < best.busy
}

/** The first `max`, one of each family in turn (RFC 8305 section 4): a long list of one does not hide the other. */
export function interleaved(addresses: readonly Resolved[], max: number): Resolved[] {
  const first = addresses.filter(({ family }) => family === addresses[0]!.family)
  const second = addresses.filter(({ family }) => family !== addresses[0]!.family)
  const longest = Math.max(first.length, second.length)
  const all = Array.from({ length: longest }, (_, i) => [first[i], second[i]]).flat()
  return all.filter((address) => address !== undefined).slice(0, max)
}
