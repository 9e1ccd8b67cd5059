/** The server of an answer that the gateway writes by itself (contract/in-process.ts). */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_STREAM, type BodyKind, type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import type { Answer, AnswerEvents } from '#engine/contract/in-process.ts'
import type { ServerStream, SpliceEnd } from '#engine/contract/transport.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { inTurn } from '#engine/socket/round.ts'

/** What becomes of it. */
export type AnswerLifecycle = Pick<ServerEvents, 'onResponse' | 'onResponseBody' | 'onResponseEnd' | 'onServerFault'>

export class InnerServer implements Answer, ServerStream {
  readonly #ex: Exchange
  readonly #events: AnswerEvents
  readonly #lifecycle: AnswerLifecycle
  #isOver = false

  constructor(ex: Exchange, events: AnswerEvents, lifecycle: AnswerLifecycle) {
    this.#ex = ex
    this.#events = events
    this.#lifecycle = lifecycle
  }

  /** `kind`: BODY_NONE for an answer that has no body. */
  begin(status: number, headers: HeaderBlock, kind: BodyKind = BODY_STREAM): void {
    const ex = this.#ex
    if (ex.step >= STEP_RECORDED || ex.response !== null) {
      this.#isOver = true
      return
    }
    ex.server = this
    ex.status = status
    ex.response = headers
    ex.responseBody = kind
    ex.responseLength = 0
    inTurn(() => this.#lifecycle.onResponse(ex))
  }

  write(bytes: Buffer): boolean {
    if (this.#isOver) return true
    let hasRoom = true
    inTurn(() => {
      hasRoom = this.#lifecycle.onResponseBody(this.#ex, bytes, 0, bytes.length, null)
    })
    return hasRoom
  }

  end(trailers = ''): void {
    if (this.#isOver) return
    this.#isOver = true
    inTurn(() => this.#lifecycle.onResponseEnd(this.#ex, trailers))
  }

  fail(code: ErrorCode): void {
    if (this.#isOver) return
    this.#isOver = true
    inTurn(() => this.#lifecycle.onServerFault(this.#ex, code))
  }

  // --- what the lifecycle asks of a server ---

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.gone()
  }

  resumeBody(): void {
    if (!this.#isOver) this.#events.writable()
  }

  pauseBody(): void {}

  sendBody(): boolean {
    return true
  }

  sendEnd(): void {}

  splice(): SpliceEnd {
    throw new Error('an answer switches no protocol')
  }
}
