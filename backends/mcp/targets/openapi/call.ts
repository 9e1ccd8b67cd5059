/** One HTTP request to the API, collected until its response is complete. */

import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import { Collector } from '#engine/contract/body.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { atRoundEnd } from '#engine/socket/round.ts'
import { toolResult } from './result.ts'
export interface Outcome {
  answered(result: JsonObject): void
  failed(failure: LinkFailure): void
}

/** Runs `step` at the end of this round, after the caller has the function that cancels it. */
export function later(step: () => void): () => void {
  let isWanted = true
  atRoundEnd(() => {
    if (isWanted) step()
  })
  return () => {
    isWanted = false
  }
}

/** Reports its outcome once, and never before `begun`: the engine may know the outcome before its call returns. */
export class CallExchange implements CallEvents {
  readonly #uri: string
  readonly #outcome: Outcome
  readonly #collector: Collector
  #call: Call | null = null
  #bytes: Buffer | null = null
  #length = 0
  #status = 0
  #type = ''
  #isCoded = false
  #isOver = false
  /** Cancels an outcome that was known before `begun` and has not been reported. */
  #early: (() => void) | null = null

  /** `uri`: of the request, without secrets. */
  constructor(bytesMax: number, uri: string, outcome: Outcome) {
    this.#uri = uri
    this.#outcome = outcome
    this.#collector = new Collector({ max: bytesMax, expected: 0 }, null, (bytes) => {
      this.#bytes = bytes
      if (bytes === null) this.#fail('tooLarge', `the answer is larger than ${bytesMax} bytes`)
    })
  }

  begun(call: Call): void {
    this.#call = call
    if (this.#isOver) call.abort()
  }

  /** No outcome is reported after this. */
  abort(): void {
    this.#isOver = true
    this.#early?.()
    this.#call?.abort()
  }

  head(status: number, headers: HeaderBlock): void {
    this.#status = status
    this.#type = headers.get('content-type') ?? ''
    this.#isCoded = !/^(?:identity)?$/i.test(headers.get('content-encoding') ?? '')
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return true
    this.#length += end - start
    if (this.#call?.keeps(this.#length) === false) this.#fail('tooLarge', ERRORS.BUFFERS_FULL.message)
    else this.#collector.take(chunk, start, end)
    return true
  }

  end(): void {
    if (this.#isOver) return
    if (this.#isCoded) {
      this.#fail('broken', 'the answer is compressed, which was not asked for')
      return
    }
    this.#collector.end()
    const answered = { status: this.#status, type: this.#type, bytes: this.#bytes!, uri: this.#uri }
    this.#tell(() => this.#outcome.answered(toolResult(answered)))
  }

  failed(code: ErrorCode): void {
    const kind = code === 'UPSTREAM_TIMEOUT' ? 'timeout' : code === 'UPSTREAM_PROTOCOL' ? 'broken' : 'unreachable'
    this.#fail(kind, ERRORS[code].message)
  }

  #fail(kind: LinkFailure['kind'], message: string): void {
    const status = this.#status === 0 ? null : this.#status
    this.#tell(() => this.#outcome.failed({ kind, status, message }))
    this.#call?.abort()
  }

  #tell(step: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#call === null) this.#early = later(step)
    else step()
  }
}
