/** Clients for requests that are only explained. Each speaks one version of HTTP over a SimulatedWire. */

import { bytesOf, type DryRequest } from './request.ts'
import type { SimulatedWire } from './simulated-wire.ts'

/** An answer as far as it has come. */
export interface SimulatedAnswer {
  readonly status: number
  readonly body: Buffer
}

export interface SimulatedClient {
  /** Sends the request. */
  begin(): void
  /** Null: none has come, or interim ones only. */
  readonly answer: SimulatedAnswer | null
  /** Why the stream or the connection ended without an answer; null: it did not. */
  readonly broken: string | null
}

export class SimulatedHttp1Client implements SimulatedClient {
  readonly broken = null
  readonly #wire: SimulatedWire
  readonly #request: DryRequest

  constructor(wire: SimulatedWire, request: DryRequest) {
    this.#wire = wire
    this.#request = request
  }

  begin(): void {
    this.#wire.feed(bytesOf(this.#request))
  }

  get answer(): SimulatedAnswer | null {
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
