/**
 * What a client of HTTP/1 has sent ahead of its time: requests behind the one at hand (pipelining, RFC 9112 section
 * 9.3.2), or a body that nobody takes yet. It is parsed in a turn of its own: no recursion, however many requests
 * there are.
 */

/** Bytes a client may send ahead before we stop reading. */
export const AHEAD_BYTES_MAX = 64 * 1024

export class PipelinedBytes {
  bytes: Buffer | null = null
  #isScheduled = false
  readonly #onTurn: () => void

  /** `onTurn` is called some time after schedule(), if there are bytes then. */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn
  }

  get isFull(): boolean {
    return this.bytes !== null && this.bytes.length >= AHEAD_BYTES_MAX
  }

  /** Keeps a copy. */
  keep(fresh: Buffer): void {
    this.bytes = this.bytes === null ? Buffer.from(fresh) : Buffer.concat([this.bytes, fresh])
  }

  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      if (this.bytes !== null) this.#onTurn()
    })
  }

  take(): Buffer | null {
    const { bytes } = this
    this.bytes = null
    return bytes
  }

  /** What was taken and did not fit: behind what has been kept since. */
  putBack(rest: Buffer): void {
    this.bytes = this.bytes === null ? rest : Buffer.concat([this.bytes, rest])
  }
}
