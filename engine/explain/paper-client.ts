/** Clients of requests that are only explained: each speaks its version of HTTP over a PaperWire. */
import type { PaperWire } from './paper-wire.ts'
import { bytesOf, type DryRequest } from './request.ts'

/** An answer as far as it has come. */
export interface PaperAnswer {
  readonly status: number
  readonly body: Buffer
}

export interface PaperClient {
  /** Sends the request. */
  begin(): void
  /** Null: none has come, or interim ones only. */
  readonly answer: PaperAnswer | null
  /** How the stream or the connection has ended without an answer; null: it has not. */
  readonly broken: string | null
}

export class Http1PaperClient implements PaperClient {
  readonly broken = null
  readonly #wire: PaperWire
  readonly #request: DryRequest

  constructor(wire: PaperWire, request: DryRequest) {
    this.#wire = wire
    this.#request = request
  }

  begin(): void {
    this.#wire.feed(bytesOf(this.#request))
  }

  get answer(): PaperAnswer | null {
    let rest = this.#wire.written
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return null
      const status = Number(rest.latin1Slice(9, 12))
      rest = rest.subarray(end + 4)
      // An interim answer (100) has no body, and another one follows.
      if (status >= 200 || status === 101) return { status, body: rest }
    }
  }
}
