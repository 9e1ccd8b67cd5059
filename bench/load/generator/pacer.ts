/**
 * A clock that ticks more finely than Node's timers (1 ms): a thread of its own sleeps in the kernel
 * for fractions of a millisecond and wakes the generator. Spinning instead would take the core from
 * the backend, which shares it.
 */
import { performance } from 'node:perf_hooks'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

/** Slots of the shared memory. */
const TICKS = 0
const STOP = 1

/** Shortest time between two ticks: below it, the ticks themselves would load the core. */
const PERIOD_MS_MIN = 0.1

interface PacerData {
  readonly shared: SharedArrayBuffer
  readonly periodMs: number
}

export class Pacer {
  readonly #cells = new Int32Array(new SharedArrayBuffer(8))
  readonly #worker: Worker
  readonly #onTick: () => void
  #stopped = false

  /** Calls `onTick` about every `periodMs` milliseconds until stop() is called. */
  constructor(periodMs: number, onTick: () => void) {
    this.#onTick = onTick
    const data: PacerData = {
      shared: this.#cells.buffer as SharedArrayBuffer,
      periodMs: Math.max(periodMs, PERIOD_MS_MIN)
    }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: data })
    this.#wait(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    Atomics.store(this.#cells, STOP, 1)
    Atomics.notify(this.#cells, STOP)
    await this.#worker.terminate()
  }

  #wait(seen: number): void {
    const waiting = Atomics.waitAsync(this.#cells, TICKS, seen)
    // Not async: a tick came since `seen` was read.
    if (waiting.async) void waiting.value.then(() => this.#tick())
    else setImmediate(() => this.#tick())
  }

  #tick(): void {
    if (this.#stopped) return
    const seen = Atomics.load(this.#cells, TICKS)
    this.#onTick()
    this.#wait(seen)
  }
}

/** The thread: sleeps until the next multiple of the period, so that lateness does not add up. */
function pace({ shared, periodMs }: PacerData): void {
  const cells = new Int32Array(shared)
  let due = performance.now()
  while (Atomics.load(cells, STOP) === 0) {
    due = Math.max(due + periodMs, performance.now() - 10 * periodMs)
    const wait = due - performance.now()
    if (wait > 0) Atomics.wait(cells, STOP, 0, wait)
    Atomics.add(cells, TICKS, 1)
    Atomics.notify(cells, TICKS)
  }
}

if (!isMainThread) pace(workerData as PacerData)
