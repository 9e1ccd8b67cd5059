/**
 * State of the whole process, shared by its threads. Only this file, armed-traces.ts, kit/claim.ts, kit/shared-rows.ts
 * and bucket-table.ts, which has more than flags and counts, use Atomics.
 * One Int32Array on a SharedArrayBuffer: process-wide flags first, then a row per worker.
 */

const DRAINING = 0
const ROWS = 8
const ROW_LENGTH = 8
const CONNECTIONS = 0
const BEATS = 1
/** In units of KiB, so that 2 TiB have room. */
const HELD = 2
const HELD_UNIT_BYTES = 1024
/** Threads that have died in its place. */
const DEATHS = 3

import type { Revocations } from '#engine/contract/revocations.ts'

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

  get workers(): number {
    return (this.#cells.length - ROWS) / ROW_LENGTH
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

  /** Bytes of messages that one worker keeps; written by that worker, in whole KiB. */
  setHeldBytes(worker: number, bytes: number): void {
    Atomics.store(this.#cells, ROWS + worker * ROW_LENGTH + HELD, Math.ceil(bytes / HELD_UNIT_BYTES))
  }

  /** Of all workers. */
  get heldBytes(): number {
    let units = 0
    for (let row = ROWS; row < this.#cells.length; row += ROW_LENGTH) units += Atomics.load(this.#cells, row + HELD)
    return units * HELD_UNIT_BYTES
  }

  /** What a thread has written for others that died in its place holds no more. */
  deaths(worker: number): number {
    return Atomics.load(this.#cells, ROWS + worker * ROW_LENGTH + DEATHS)
  }

  addDeath(worker: number): void {
    Atomics.add(this.#cells, ROWS + worker * ROW_LENGTH + DEATHS, 1)
  }

  /** A sign of life: rises while the worker's event loop turns. */
  beat(worker: number): void {
    Atomics.add(this.#cells, ROWS + worker * ROW_LENGTH + BEATS, 1)
  }

  beats(worker: number): number {
    return Atomics.load(this.#cells, ROWS + worker * ROW_LENGTH + BEATS)
  }
}

const REVOKED_SLOTS = 8_192
/** Of last uses, behind them: a session that finds its place taken is judged by what one worker knows. */
const USED_SLOTS = 65_536
const TICK_MS = 100

/** Marks of revoked and of used sessions (contract/revocations.ts), in memory that all workers share. */
export class SharedRevocations implements Revocations {
  readonly #marks: BigInt64Array

  constructor(memory = SharedRevocations.create()) {
    this.#marks = new BigInt64Array(memory)
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer((REVOKED_SLOTS + USED_SLOTS) * BigInt64Array.BYTES_PER_ELEMENT)
  }

  revoke(mark: bigint): void {
    Atomics.store(this.#marks, slotOf(mark), mark)
  }

  isRevoked(mark: bigint): boolean {
    return Atomics.load(this.#marks, slotOf(mark)) === mark
  }

  /** Half of the mark and the time are one number, so that they are always read together. */
  touch(mark: bigint, now: number): void {
    Atomics.store(this.#marks, placeOf(mark), BigInt.asIntN(64, ((mark >> 32n) << 32n) | BigInt(ticksOf(now))))
  }

  idleMs(mark: bigint, now: number): number {
    const used = Atomics.load(this.#marks, placeOf(mark))
    if (used === 0n || used >> 32n !== mark >> 32n) return Number.POSITIVE_INFINITY
    // Another worker may have used it since `now` was read.
    return Math.max(0, (ticksOf(now) - Number(BigInt.asUintN(32, used))) | 0) * TICK_MS
  }
}

const ticksOf = (now: number): number => Math.floor(now / TICK_MS) >>> 0
const placeOf = (mark: bigint): number => REVOKED_SLOTS + Number(BigInt.asUintN(16, mark))
const slotOf = (mark: bigint): number => Number(BigInt.asUintN(13, mark))
