/**
 * State of the whole process, shared by its threads. Only this file and bucket-table.ts, which has more of it than
 * flags and counts, use Atomics.
 * One Int32Array on a SharedArrayBuffer: process-wide flags first, then a row per worker.
 */

const DRAINING = 0
const ROWS = 8
const ROW_LENGTH = 8
const CONNECTIONS = 0
const BEATS = 1

export class SharedState {
  readonly buffer: SharedArrayBuffer
  readonly #cells: Int32Array

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.#cells = new Int32Array(buffer)
  }

  static create(workers: number): SharedState {
    return new SharedState(new SharedArrayBuffer((ROWS + workers * ROW_LENGTH) * Int32Array.BYTES_PER_ELEMENT))
  }

  static attach(buffer: SharedArrayBuffer): SharedState {
    return new SharedState(buffer)
  }

  get draining(): boolean {
    return Atomics.load(this.#cells, DRAINING) === 1
  }

  setDraining(): void {
    Atomics.store(this.#cells, DRAINING, 1)
  }

  /** Connections of one worker; written by that worker. */
  setConnections(worker: number, count: number): void {
    Atomics.store(this.#cells, ROWS + worker * ROW_LENGTH + CONNECTIONS, count)
  }

  connections(worker: number): number {
    return Atomics.load(this.#cells, ROWS + worker * ROW_LENGTH + CONNECTIONS)
  }

  /** A sign of life: rises while the worker's event loop turns. */
  beat(worker: number): void {
    Atomics.add(this.#cells, ROWS + worker * ROW_LENGTH + BEATS, 1)
  }

  beats(worker: number): number {
    return Atomics.load(this.#cells, ROWS + worker * ROW_LENGTH + BEATS)
  }
}
