/** Time of the processor, which work on the same machine does not lengthen as it does that of the clock. */
import assert from 'node:assert/strict'

/** Of the calling thread, in milliseconds, until `work` is done. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  return spentMs(before)
}

export function spentMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

const GROWTH = 16
/** What is quadratic takes 16 times as long as what is linear; collections of garbage and caches account for some. */
const EXCESS_MAX = 6
const TRIES = 5
/** Less is nothing that can be compared. */
const LEAST_MS = 1

/**
 * Asserts that `work` takes time in proportion to its size: `size` and sixteen times that are compared with each
 * other, each by the least of several tries, so that a slow machine changes nothing.
 */
export function assertLinear(what: string, size: number, work: (size: number) => void): void {
  const least = (of: number) => Math.min(...Array.from({ length: TRIES }, () => cpuMs(() => work(of))))
  work(size)
  const once = Math.max(LEAST_MS, least(size))
  const grown = least(size * GROWTH)
  const ratio = grown / once
  assert.ok(ratio <= GROWTH * EXCESS_MAX, `${what}: ${GROWTH} times the size takes ${ratio.toFixed(0)} times as long`)
}
