/** Silent streams get a comment now and then: proxies close connections that are silent. */
import { performance } from 'node:perf_hooks'

/** WHATWG HTML section 9.2.7 recommends a comment every 15 seconds or so. */
export const KEEPALIVE_MS = 15_000
const COMMENT = Buffer.from(': keepalive\n\n')

interface Stream {
  /** performance.now() of the last write. */
  readonly writtenAt: number
  /** Called with every tick. */
  readonly onKeepalive: (() => void) | null
  write(bytes: Buffer): void
}

/** One timer for all streams of a backend, while there are some. */
export class Keepalive {
  readonly #streams = new Set<Stream>()
  readonly #everyMs: number
  #timer: NodeJS.Timeout | null = null

  constructor(everyMs = KEEPALIVE_MS) {
    this.#everyMs = everyMs
  }

  add(stream: Stream): void {
    this.#streams.add(stream)
    if (this.#timer !== null) return
    this.#timer = setInterval(() => this.#tick(), this.#everyMs)
    this.#timer.unref()
  }

  delete(stream: Stream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #tick(): void {
    const before = performance.now() - this.#everyMs / 2
    for (const stream of this.#streams) {
      stream.onKeepalive?.()
      if (stream.writtenAt < before) stream.write(COMMENT)
    }
  }
}
