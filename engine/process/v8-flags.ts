/** How V8 compiles and collects while requests are served. */
import { setFlagsFromString } from 'node:v8'

/**
 * Called when all code is loaded that a start needs. V8 takes code from a cache only under the flags that it was made
 * with: set before, they had every thread compile the modules of Node itself (140 ms of CPU time each).
 */
export function setServingFlags(): void {
  // Little survives a request: V8's helper threads take longer to wake than to collect what is left
  // (2.4 % of all CPU time, docs/design/008-header-table.md), and with a worker per core none is idle.
  setFlagsFromString('--no-parallel-scavenge')
  // A request passes through many small functions: let the compiler join more of them (same note).
  setFlagsFromString('--max-inlined-bytecode-size=1000')
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000')
  // No object of a request lives long, whatever V8 concludes from those that were there when it looked: one that it
  // puts into the old generation at once keeps all that it refers to alive until that is collected (same note).
  setFlagsFromString('--no-allocation-site-pretenuring')
  setHeapFlags()
}

/**
 * As setServingFlags, and before a large configuration is built. Left alone V8 lets garbage grow to twice what lives
 * before it collects, and keeps the pages for good: 60 MB of each worker with 10,000 routes
 * (docs/design/044-kubernetes-translation.md).
 */
export function setHeapFlags(): void {
  setFlagsFromString('--heap-growing-percent=50')
}
