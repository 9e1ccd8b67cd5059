/** One request to a service over HTTP, and its whole answer. */
import type { HttpServiceAnswer, HttpServiceRequest, ServiceFailure } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { OpenCall, type ServiceDestination } from './destination.ts'

const TOO_LARGE: ServiceFailure = { error: 'TOO_LARGE', detail: 'its answer is longer than is taken' }
const NO_ROOM: ServiceFailure = { error: 'NO_ROOM', detail: 'there is no room for its answer' }
const NO_BODY = Buffer.alloc(0)

type Done = (answer: HttpServiceAnswer | ServiceFailure) => void

export class HttpServiceCall extends OpenCall {
  readonly #answerBytesMax: number
  readonly #done: Done
  #pieces: Pieces | null = null
  #status = 0
  #headers: HeaderBlock | null = null
  #bytes = 0

  constructor(destination: ServiceDestination, request: HttpServiceRequest, done: Done) {
    super(destination, request)
    this.#answerBytesMax = request.answerBytesMax
    this.#done = done
  }

  head(status: number, headers: HeaderBlock): void {
    this.#status = status
    this.#headers = headers
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    this.#bytes += end - start
    if (this.#bytes > this.#answerBytesMax) this.fail(TOO_LARGE)
    else if (this.call?.keeps(this.#bytes) === false) this.fail(NO_ROOM)
    else {
      this.#pieces ??= new Pieces()
      this.#pieces.push(chunk, start, end)
    }
    return true
  }

  end(): void {
    if (this.isOver) return
    this.close('ok')
    // The block belongs to its connection, which reads the next answer into it.
    const headers = this.#headers?.copy() ?? new HeaderBlock()
    this.#done({ error: null, status: this.#status, headers, body: this.#pieces?.whole ?? NO_BODY })
  }

  protected tell(failure: ServiceFailure): void {
    this.#done(failure)
  }
}
