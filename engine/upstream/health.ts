/** What is known of one address of a destination: whether it can be reached, and what it speaks. */
import { turnStartedAt } from '#engine/socket/round.ts'

/** First ejection after a failed connect; doubles up to the maximum with each further failure. */
const EJECT_FIRST_MS = 500
const EJECT_MAX_MS = 30_000
/** A server that speaks HTTP/1.1 only is believed to do so for so long; then it may have become another one. */
const DECLINED_MS = 300_000

export class Health {
  #failures = 0
  #ejectedUntil = 0
  /** Connections being made. */
  #dials = 0
  #declinedUntil = 0

  /** Connecting failed lately: others are preferred until the ejection is over, and then until one has tried. */
  get ejected(): boolean {
    return this.#failures > 0 && (this.#dials > 0 || this.#ejectedUntil > performance.now())
  }

  /** Milliseconds of performance.now() at which the ejection ends. */
  get ejectedUntil(): number {
    return this.#ejectedUntil
  }

  /** The server speaks HTTP/1.1: its TLS has chosen that, or it has not understood the preface. */
  get declined(): boolean {
    return this.#declinedUntil > turnStartedAt
  }

  decline(): void {
    this.#declinedUntil = turnStartedAt + DECLINED_MS
  }

  dialling(): void {
    this.#dials++
  }

  /** Behind dialling(): nobody waits for that connection any more, which says nothing of the address. */
  abandoned(): void {
    this.#dials--
  }

  /** The address works. Behind dialling(). */
  reached(): void {
    this.#dials--
    this.#failures = 0
  }

  /** Behind dialling(). */
  connectFailed(): void {
    this.#dials--
    const pause = Math.min(EJECT_FIRST_MS * 2 ** this.#failures, EJECT_MAX_MS)
    this.#failures++
    this.#ejectedUntil = performance.now() + pause
  }
}
