/**
 * A bound for walks over whole values: comparing, writing as text or JSON. An expression can build [x, x] of
 * [x, x] of [x, x] ..., a value that is small in memory and endless to whoever walks over it.
 */

/** Values that all walks of one run visit: some milliseconds. */
const VISITS_MAX = 200_000

/** Runs are synchronous, so one counter serves all. A run inside a run gives the outer one more. */
let left = VISITS_MAX

export function startWalks(): void {
  left = VISITS_MAX
}

/** Counts one value. Throws when there were too many: the run makes an error of it, and no walk has to carry one. */
export function visit(): void {
  if (--left < 0) throw new RangeError(`values with more than ${VISITS_MAX} parts`)
}
