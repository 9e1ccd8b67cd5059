/**
 * What a client of HTTP/1 has sent before it can be parsed: requests behind the one at hand (pipelining, RFC 9112
 * section 9.3.2), or a body that is not read yet. It is parsed in a microtask: no recursion, however many requests
 * there are.
 */

/** Bytes a client may send ahead before we stop reading. */
export const PIPELINED_BYTES_MAX = 64 * 1024

export class PipelinedBytes {
  bytes: Buffer | null = null
  #isScheduled = false
  readonly #parse: () => void

  /** `parse` is called some time after schedule(), if there are bytes then. */
  constructor(parse: () => void) {
    this.#parse = parse
  }

  get isFull(): boolean {
    return this.bytes !== null && this.bytes.length >= PIPELINED_BYTES_MAX
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
      if (this.bytes !== null) this.#parse()
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
