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

import type { Ended } from '#engine/contract/ended.ts'

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

const ENDED_SLOTS = 8_192

/** Marks of what has ended (contract/ended.ts), in memory that all workers have. */
export class EndedMarks implements Ended {
  readonly #marks: BigInt64Array

  constructor(memory = EndedMarks.create()) {
    this.#marks = new BigInt64Array(memory)
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(ENDED_SLOTS * BigInt64Array.BYTES_PER_ELEMENT)
  }

  add(mark: bigint): void {
    Atomics.store(this.#marks, slotOf(mark), mark)
  }

  has(mark: bigint): boolean {
    return Atomics.load(this.#marks, slotOf(mark)) === mark
  }
}

const slotOf = (mark: bigint): number => Number(BigInt.asUintN(13, mark))
