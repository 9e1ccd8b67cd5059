/** Recently composed lists of one backend, and their bytes. */
const COMPOSED_MAX = 16
const COMPOSED_BYTES_MAX = 8 * 1024 * 1024
/** Items of cached lists as text, by which runs of which pages: the same for callers that see the same. */
export class ComposedLists {
  readonly #lists = new Map<string, Buffer>()
  #bytes = 0

  get(key: string): Buffer | undefined {
    const known = this.#lists.get(key)
    if (known !== undefined) {
      this.#lists.delete(key)
      this.#lists.set(key, known)
    }
    return known
  }

  set(key: string, items: Buffer): void {
    if (items.length > COMPOSED_BYTES_MAX) return
    this.#lists.set(key, items)
    this.#bytes += items.length
    for (const [oldest, { length }] of this.#lists) {
      if (this.#bytes <= COMPOSED_BYTES_MAX && this.#lists.size <= COMPOSED_MAX) break
      this.#lists.delete(oldest)
      this.#bytes -= length
    }
  }
}
