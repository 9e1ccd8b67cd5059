/**
 * Bounds that one run shares. A walk over whole values (comparing, writing as text or JSON) counts its visits: an
 * expression can build [x, x] of [x, x] of [x, x] ..., small in memory and endless to walk over. Long work also asks
 * now and then whether the run has time left.
 */

/** Values that all walks of one run visit: some milliseconds. */
const VISITS_MAX = 200_000
/** Visits between two looks at the clock. */
const VISITS_PER_LOOK = 8_192

/** How long a run may hold an event loop, in CPU time of its thread; 50 times what its steps take at most as a rule. */
export const RUN_MS_MAX = 250
let runMsMax = RUN_MS_MAX

/** For a thread that serves nothing else meanwhile. */
export function setRunMs(ms: number): void {
  runMsMax = ms
}

/** A run that took too long; the run makes an error of it. */
export class Late extends Error {
  constructor() {
    super(`the expression needs more time than its limit of ${runMsMax} ms`)
  }
}

/** Runs are synchronous, so one counter and one clock serve all. A run inside a run gives the outer one more. */
let left = VISITS_MAX
let lookAt = VISITS_MAX
/** Wall-clock time after which CPU time, which costs more to read, is read; 0: not read yet. */
let lateAt = 0
let cpuAt = 0

export function startWalks(): void {
  left = VISITS_MAX
  lookAt = VISITS_MAX - VISITS_PER_LOOK
  lateAt = 0
}

/**
 * Whether the run has had its time. It begins with the first look: a run that never comes to one pays nothing. Waiting
 * for a processor is not counted.
 */
export function isLate(): boolean {
  const now = performance.now()
  if (lateAt === 0) {
    cpuAt = cpuMs()
    lateAt = now + runMsMax
    return false
  }
  if (now < lateAt) return false
  const used = cpuMs() - cpuAt
  if (used >= runMsMax) return true
  lateAt = now + runMsMax - used
  return false
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Throws when the run has had its time: for work of one call that cannot be foreseen. */
export function checkTime(): void {
  if (isLate()) throw new Late()
}

/** Characters that are compared or copied in the time of one visit, as a power of two. */
export const VISIT_BITS = 8

/** Counts values. Throws when there were too many: the run makes an error of it, and no walk has to carry one. */
export function visit(count = 1): void {
  left -= count
  if (left < lookAt) look()
}

function look(): void {
  if (left < 0) throw new RangeError(`values with more than ${VISITS_MAX} parts`)
  lookAt = left - VISITS_PER_LOOK
  checkTime()
}
