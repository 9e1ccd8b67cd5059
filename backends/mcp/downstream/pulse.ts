/** Streams on which nothing is said for a while get a comment: proxies between end connections that say nothing. */
import { performance } from 'node:perf_hooks'

/** WHATWG HTML section 9.2.7 recommends a comment every 15 seconds or so. */
export const KEEPALIVE_MS = 15_000
const COMMENT = Buffer.from(': keepalive\n\n')

interface Stream {
  /** performance.now() of what was written last. */
  readonly writtenAt: number
  /** Called with every beat. */
  readonly onPulse: (() => void) | null
  write(bytes: Buffer): void
}

/** One timer for all streams of a backend, while there are some. */
export class Pulse {
  readonly #streams = new Set<Stream>()
  readonly #everyMs: number
  #timer: NodeJS.Timeout | null = null

  constructor(everyMs = KEEPALIVE_MS) {
    this.#everyMs = everyMs
  }

  add(stream: Stream): void {
    this.#streams.add(stream)
    if (this.#timer !== null) return
    this.#timer = setInterval(() => this.#beat(), this.#everyMs)
    this.#timer.unref()
  }

  delete(stream: Stream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #beat(): void {
    const before = performance.now() - this.#everyMs / 2
    for (const stream of this.#streams) {
      stream.onPulse?.()
      if (stream.writtenAt < before) stream.write(COMMENT)
    }
  }
}
