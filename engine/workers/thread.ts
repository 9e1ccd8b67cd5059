/** Threads that become workers: a thread loads its code first, and gets its role when that is known. */
import { totalmem } from 'node:os'
import { constrainedMemory } from 'node:process'
import { Worker } from 'node:worker_threads'

const MB = 1024 * 1024
/** Below, a worker would only collect garbage; above, one collection would hold its event loop too long. */
const HEAP_MIN_MB = 128
const HEAP_MAX_MB = 4096
/**
 * Of the young generation: three semi-spaces. A build fills what V8 would give it, 32 MB, and a worker does not give
 * that back. 4 MB are the garbage of 10,000 requests, of which little survives: a scavenge takes 0.3 ms.
 */
const YOUNG_MB = 12

/** `entry`: the module that it runs. `heapMb`: a worker that needs more ends, the process does not. */
export function startThread(entry: URL, heapMb: number): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_MB }
  return new Worker(entry, { resourceLimits, name: 'weir-worker' })
}

/**
 * The thread of the first worker, started before the configuration has been read: loading its code takes as long as
 * reading that, and another core does it. It keeps no process alive until it has been taken.
 */
export class SpareThread {
  #thread: Worker | null
  readonly #heapMb: number
  readonly #forget = (): void => {
    this.#thread = null
  }

  constructor(entry: URL, heapMb: number) {
    this.#heapMb = heapMb
    const thread = startThread(entry, heapMb)
    this.#thread = thread
    thread.unref()
    // The thread that is started instead shows the reason.
    thread.on('error', this.#forget)
    thread.on('exit', this.#forget)
  }

  /** The thread, once; null when it is gone, or its heap is smaller than wanted, or more than twice that. */
  take(heapMb: number): Worker | null {
    const thread = this.#thread
    if (thread === null) return null
    this.#thread = null
    if (this.#heapMb < heapMb || this.#heapMb > 2 * heapMb) {
      // Resolves with an exit code that is not used.
      thread.terminate().catch(() => undefined)
      return null
    }
    thread.off('error', this.#forget)
    thread.off('exit', this.#forget)
    thread.ref()
    return thread
  }
}

/** Heap of each of `count` workers, so that together they stay within the memory of the machine or container. */
export function heapMbFor(
  count: number,
  memoryBytes = Math.min(totalmem(), constrainedMemory() || totalmem())
): number {
  // Half of it: buffers, code and the main thread live beside the heaps.
  const share = Math.floor(memoryBytes / MB / 2 / count)
  return Math.min(Math.max(share, HEAP_MIN_MB), HEAP_MAX_MB)
}
