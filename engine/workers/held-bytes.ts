/** The account of what the whole process keeps of messages (contract/held-bytes.ts), as one of its workers keeps it. */
import type { HeldBytes } from '#engine/contract/held-bytes.ts'
import type { SharedState } from './shared.ts'

/** A worker tells the others when so much has changed: by so much for each of them there may be more than allowed. */
const STEP_BYTES = 64 * 1024
/** Beyond this share of all that may be kept, what is left is for clients that keep little. */
const SCARCE = 7 / 8

export class WorkerHeldBytes implements HeldBytes {
  readonly max: number
  /** Requests and answers that were refused for want of room. */
  refused = 0
  #bytes = 0
  #toldBytes = 0
  readonly #state: SharedState
  readonly #worker: number

  constructor(state: SharedState, worker: number, max: number) {
    this.max = max
    this.#state = state
    this.#worker = worker
    // The worker that had this slot before took what it kept along.
    state.setHeldBytes(worker, 0)
  }

  get workers(): number {
    return this.#state.workers
  }

  get isScarce(): boolean {
    return this.#state.heldBytes - this.#toldBytes + this.#bytes > this.max * SCARCE
  }

  refuse(): void {
    this.refused++
  }

  /** Of this worker. */
  get bytes(): number {
    return this.#bytes
  }

  take(bytes: number): boolean {
    const held = this.#bytes + bytes
    if (held > this.#toldBytes + STEP_BYTES && !this.#tell(held)) {
      this.refused++
      return false
    }
    this.#bytes = held
    return true
  }

  /** False: all of them together would keep too much. */
  #tell(held: number): boolean {
    if (this.#state.heldBytes - this.#toldBytes + held > this.max) return false
    this.#toldBytes = held
    this.#state.setHeldBytes(this.#worker, held)
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes < this.#toldBytes - STEP_BYTES || this.#bytes === 0) this.publish()
  }

  /** Tells the others what is kept now. */
  publish(): void {
    if (this.#bytes === this.#toldBytes) return
    this.#toldBytes = this.#bytes
    this.#state.setHeldBytes(this.#worker, this.#bytes)
  }
}
