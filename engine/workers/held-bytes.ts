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
  #publishedBytes = 0
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
    return this.#state.heldBytes - this.#publishedBytes + this.#bytes > this.max * SCARCE
  }

  refuse(): void {
    this.refused++
  }

  /** Of this worker. */
  get bytes(): number {
    return this.#bytes
  }

  take(bytes: number): boolean {
    const total = this.#bytes + bytes
    if (total > this.#publishedBytes + STEP_BYTES && !this.#tell(total)) {
      this.refused++
      return false
    }
    this.#bytes = total
    return true
  }

  /** False: all of them together would keep too much. */
  #tell(total: number): boolean {
    if (this.#state.heldBytes - this.#publishedBytes + total > this.max) return false
    this.#publishedBytes = total
    this.#state.setHeldBytes(this.#worker, total)
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes < this.#publishedBytes - STEP_BYTES || this.#bytes === 0) this.publish()
  }

  /** Tells the others what is kept now. */
  publish(): void {
    if (this.#bytes === this.#publishedBytes) return
    this.#publishedBytes = this.#bytes
    this.#state.setHeldBytes(this.#worker, this.#bytes)
  }
}
