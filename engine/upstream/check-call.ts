import type { ServiceFailure } from '#engine/contract/service.ts'
import { OpenCall, type ServiceDestination } from '#engine/service/destination.ts'

/** An active check over HTTP: the status of an answer that comes to its end, or is long. */
export class HttpCheckCall extends OpenCall {
  readonly #bytesMax: number
  readonly #done: (answer: number | ServiceFailure) => void
  #status = 0
  #bytes = 0

  constructor(destination: ServiceDestination, bytesMax: number, done: (answer: number | ServiceFailure) => void) {
    super(destination, { timeoutMs: 0, ex: null })
    this.#bytesMax = bytesMax
    this.#done = done
  }

  head(status: number): void {
    this.#status = status
  }

  body(_chunk: Buffer, start: number, end: number): boolean {
    this.#bytes += end - start
    if (this.#bytes > this.#bytesMax && !this.isOver) {
      this.end()
      this.call?.abort()
    }
    return true
  }

  end(): void {
    if (this.isOver) return
    this.close('ok')
    this.#done(this.#status)
  }

  protected tell(failure: ServiceFailure): void {
    this.#done(failure)
  }
}
