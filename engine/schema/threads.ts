/** How many threads: a number, or a share of the processors. */
import { says, whole, z } from './schema.ts'

const THREADS_MAX = 1024

const EXPECTED = `must be a whole number from 1 to ${THREADS_MAX}, or a share of the processors such as "50%"`

/** 4, or "50%" of the processors. */
export const threads = () =>
  z.union([whole(1, THREADS_MAX), z.string().regex(/^(?:100|[1-9][0-9]?)%$/, EXPECTED)], { error: says(EXPECTED) })

/** The number of threads on a machine with `processors`: at least one. */
export function threadCount(value: number | string, processors: number): number {
  if (typeof value === 'number') return value
  return Math.max(1, Math.round((processors * Number.parseInt(value, 10)) / 100))
}
