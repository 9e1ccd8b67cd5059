/** Text of a file that another program renews: tokens, certificates. */
import { readFileSync } from 'node:fs'

/** The kubelet renews a token when a fifth of its time is left, which is minutes at least; client-go reads as often. */
const FRESH_MS = 60_000

export class FileText {
  readonly #path: string
  readonly #now: () => number
  #text = ''
  #readAt = -Infinity

  /** `now`: milliseconds of a monotonic clock. */
  constructor(path: string, now: () => number) {
    this.#path = path
    this.#now = now
  }

  /** Throws an Error when there has never been a text; one that cannot be read later leaves the text as it was. */
  read(): string {
    if (this.#now() - this.#readAt < FRESH_MS) return this.#text
    try {
      this.#text = readFileSync(this.#path, 'utf8')
    } catch (error) {
      if (this.#readAt === -Infinity) throw error
    }
    this.#readAt = this.#now()
    return this.#text
  }

  /** The next reader reads the file, if it was read at all. */
  forget(): void {
    if (this.#readAt !== -Infinity) this.#readAt = this.#now() - FRESH_MS
  }
}
