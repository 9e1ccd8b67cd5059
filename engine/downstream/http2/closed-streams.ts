/**
 * Streams that we ended lately, before their client did: what it had sent by then is not its fault (RFC 9113 section
 * 5.1, closed). Older ones are forgotten; frames that come for them are answered like those of any closed stream.
 */

const KEPT = 256

export class ClosedStreams {
  readonly #ids = new Set<number>()

  add(id: number): void {
    this.#ids.add(id)
    if (this.#ids.size <= KEPT) return
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest)
      return
    }
  }

  /** The client has acknowledged it. */
  forget(id: number): void {
    this.#ids.delete(id)
  }

  has(id: number): boolean {
    return this.#ids.has(id)
  }
}
