/** A service as its calls see it, and what calls over HTTP and gRPC have in common. */

import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, forgetEnd, listenForEnd } from '#engine/contract/exchange-signal.ts'
import type { Call, CallEvents, CallRequest, InProcess } from '#engine/contract/in-process.ts'
import type {
  CallBounds,
  ServiceCall,
  ServiceFailure,
  ServiceRecorder,
  ServiceResult
} from '#engine/contract/service.ts'
import { type ExchangeObserver, FOLLOWED, TRACE } from '#engine/contract/tracing.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { atRoundEnd } from '#engine/socket/round.ts'
import { CANCELLED, failureOf } from './failure.ts'

export interface ServiceDestination {
  readonly name: string
  readonly inProcess: InProcess
  /** Sends a call the way of the backend that the service is. */
  readonly serve: (ex: Exchange) => void
  readonly recorder: ServiceRecorder
}

/** One call: it is recorded once, ends once, and ends with its exchange. */
export abstract class OpenCall implements ServiceCall, CallEvents, EndListener {
  readonly #destination: ServiceDestination
  readonly #ex: Exchange | null
  readonly #startedAt = performance.now()
  protected call: Call | null = null
  protected isOver = false
  /** For the story of its exchange; null: nobody follows that. */
  #whenClosed: ReturnType<ExchangeObserver['calling']> | null = null
  /** It has failed before its caller holds it. */
  #early: ServiceFailure | null = null

  constructor(destination: ServiceDestination, { ex }: CallBounds) {
    this.#destination = destination
    this.#ex = ex
  }

  begin(request: CallRequest): this {
    const { inProcess, serve, name } = this.#destination
    const ex = this.#ex
    if (ex !== null) {
      listenForEnd(ex, this)
      if (ex.slots !== null) this.#whenClosed = FOLLOWED.get(ex)?.calling(name, request.method, request.path) ?? null
    }
    const trace = ex === null ? null : TRACE.get(ex)
    const traced = trace === null ? request : { ...request, trace: trace.child(ex!) }
    this.call = inProcess.callBackend(serve, traced, this)
    if (this.#early !== null) atRoundEnd(() => this.fail(this.#early!))
    return this
  }

  cancel(): void {
    this.fail(CANCELLED)
  }

  detach(): void {
    if (this.#ex !== null) forgetEnd(this.#ex, this)
    // The story ends with the exchange.
    this.#whenClosed?.('ok')
    this.#whenClosed = null
  }

  exchangeOver(): void {
    this.fail(CANCELLED)
  }

  abstract head(status: number, headers: HeaderBlock): void
  abstract body(chunk: Buffer, start: number, end: number): boolean
  abstract end(trailers: string): void

  failed(...[code, detail]: Parameters<CallEvents['failed']>): void {
    this.fail(failureOf(code, detail))
  }

  protected fail(failure: ServiceFailure): void {
    if (this.isOver) return
    if (this.call === null) {
      this.#early ??= failure
      return
    }
    this.close(failure.error)
    this.call.abort()
    this.tell(failure)
  }

  /** To the caller. */
  protected abstract tell(failure: ServiceFailure): void

  protected close(result: ServiceResult): void {
    this.isOver = true
    this.#whenClosed?.(result)
    this.#whenClosed = null
    this.detach()
    this.#destination.recorder.record(result, performance.now() - this.#startedAt)
  }
}
