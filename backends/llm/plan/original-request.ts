/**
 * A request as the client sent it, for the attempts after the first: what was written for one provider (its key, its
 * fields, its format) must never reach another, nor a backend that is no model at all.
 */
import { endAttemptHeaders } from '#engine/contract/attempt-headers.ts'
import type { BodyKind, Exchange } from '#engine/contract/exchange.ts'
import type { CallRequest } from '#engine/contract/in-process.ts'
import { costlyAttempt } from '#engine/contract/model-use.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

export class OriginalRequest {
  readonly #method: string
  readonly #path: string
  readonly #query: string
  readonly #fields: HeaderBlock
  readonly #body: BodyKind
  readonly #length: number
  readonly #bytes: Buffer | null

  constructor(ex: Exchange) {
    this.#method = ex.method
    this.#path = ex.path
    this.#query = ex.query
    this.#fields = ex.request.copy()
    this.#body = ex.requestBody
    this.#length = ex.requestLength
    this.#bytes = ex.requestBytes
  }

  /** Of its body. */
  get byteCount(): number {
    return this.#bytes?.length ?? 0
  }

  /** What the client has asked, but for its body: for a call of the gateway's own. */
  get head(): Pick<CallRequest, 'method' | 'path' | 'query' | 'headers'> {
    return { method: this.#method, path: this.#path, query: this.#query, headers: this.#fields.copy() }
  }

  restore(ex: Exchange): void {
    endAttemptHeaders(ex)
    ex.method = this.#method
    ex.path = this.#path
    ex.query = this.#query
    ex.request = this.#fields.copy()
    ex.requestBody = this.#body
    ex.requestLength = this.#length
    ex.requestBytes = this.#bytes
    // What waits for a connection is what the attempt has written, not sent yet.
    if (this.#bytes !== null) ex.heldRequest = this.#bytes.length === 0 ? null : [this.#bytes]
    const previous = costlyAttempt(ex.llm)
    ex.llm = previous === undefined ? null : { previous }
  }
}
