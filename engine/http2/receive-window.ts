/**
 * What a peer may still send on a stream or a connection (RFC 9113 section 5.2). Room is given back when what came
 * has gone on its way, half a window at a time: one WINDOW_UPDATE for many frames. When more is
 * kept by others, it is given back as soon as it is as much as the peer still has: else what is left would stand still.
 */
export class ReceiveWindow {
  readonly #size: number
  /** Bytes that the peer may send. */
  #left: number
  /** Bytes that have been passed on and are not granted again yet. */
  #spent = 0

  /** `size`: the window when nothing is under way. `announced`: what the peer knows of it so far. */
  constructor(size: number, announced: number = size) {
    this.#size = size
    this.#left = announced
  }

  /** Bytes of it that are not held. */
  get free(): number {
    return this.#left + this.#spent
  }

  /** The advertised window exceeds the wanted one by so much: that part is not given back. */
  withhold(bytes: number): void {
    this.#spent -= bytes
  }

  /** The peer has sent `bytes`. False: more than it was allowed (FLOW_CONTROL_ERROR). */
  receive(bytes: number): boolean {
    this.#left -= bytes
    return this.#left >= 0
  }

  /** `bytes` have been passed on. Returns the increment of a WINDOW_UPDATE that is due now, or 0. */
  release(bytes: number): number {
    this.#spent += bytes
    if (this.#spent * 2 < this.#size && (this.#spent < this.#left || this.#spent <= 0)) return 0
    const increment = this.#spent
    this.#spent = 0
    this.#left += increment
    return increment
  }
}
