/** A guarded stream on its way to the client: what guards have let go passes the tap that is there anyway. */

import type { ChatError } from '#backends/llm/conversation.ts'
import { reasonOf, type WireEvent } from '#backends/llm/formats/format.ts'
import { type AnswerCost, BROKEN, type CostTap } from '#backends/llm/stream/cost-tap.ts'
import { LINE_ENDS } from '#backends/llm/stream/framing.ts'
import { frame } from '#backends/llm/stream/translating-tap.ts'
import type { Fail } from '#engine/contract/body.ts'
import { sendResponse } from '#engine/contract/body-processor.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { type Exchange, STEP_RECORDED, STEP_SENDING } from '#engine/contract/exchange.ts'
import { SseTooLong } from '#engine/http/sse.ts'
import { inTurn } from '#engine/socket/round.ts'
import { isLong, type StreamGuards } from './stream-guard.ts'

/** Between looks at whether the head of the answer is out, which a policy still looks at. */
const HEAD_MS = 5

/** Events out of a provider's bytes. */
export interface Framing {
  push(chunk: Buffer, start: number, end: number, events: WireEvent[]): void
}

export interface GuardTapOptions {
  /** How the provider frames its events. */
  readonly framing: Framing
  /** Gets what guards have let go as server-sent events, whatever the provider's framing is. */
  readonly inner: CostTap
  readonly guards: StreamGuards
  readonly fail: Fail
  /** No more of the stream is looked through: `guards` have masked what they have. */
  readonly masked: (ex: Exchange) => void
}

export class GuardTap implements CostTap {
  readonly cost: AnswerCost
  readonly #options: GuardTapOptions
  /** Why nothing goes on any more. */
  #error: ChatError | null = null
  /** What is left of a long event and of those behind it; null: nothing. */
  #work: Generator<undefined, void> | null = null
  /** What has come meanwhile. */
  #late: Buffer[] = []
  /** The client has room for more. */
  #hasRoom = true
  #next: (() => void) | null = null

  constructor(options: GuardTapOptions) {
    this.#options = options
    this.cost = options.inner.cost
  }

  get isAtBoundary(): boolean {
    return this.#options.inner.isAtBoundary
  }

  get isBusy(): boolean {
    return this.#work !== null || this.#options.inner.isBusy === true
  }

  whenDone(step: () => void): void {
    if (this.#work === null) this.#options.inner.whenDone?.(step)
    else this.#next = step
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#error !== null) return null
    if (this.#work !== null) {
      this.#late.push(Buffer.from(chunk.subarray(start, end)))
      return null
    }
    const passed = this.#read(ex, chunk, start, end)
    // Not in the middle of what the provider is saying: this ends its connection, so that nothing more is spent.
    if (this.#error !== null) queueMicrotask(() => this.#options.fail(ex, 'UPSTREAM_PROTOCOL'))
    return passed
  }

  #read(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const events: WireEvent[] = []
    const ready: WireEvent[] = []
    try {
      this.#options.framing.push(chunk, start, end, events)
      for (let i = 0; i < events.length && this.#work === null; i++) {
        if (isLong(events[i]!)) this.#begin(ex, events.slice(i))
        else ready.push(...this.#options.guards.push(events[i]!))
      }
    } catch (error) {
      this.#error = this.#errorOf(error)
    }
    return this.#pass(ex, ready)
  }

  end(ex: Exchange): Buffer | null {
    const { inner } = this.#options
    if (this.#error !== null) return inner.endWithError(this.#error)
    // The last event may lack its empty line. What is left of half an event can neither be read nor looked through.
    const last = this.#read(ex, LINE_ENDS, 0, LINE_ENDS.length)
    if (this.#error !== null) return joined(last, inner.endWithError(this.#error))
    if (this.#work !== null) return last
    const rest = joined(last, this.#rest(ex))
    return joined(rest, this.#error === null ? inner.end(ex) : inner.endWithError(this.#error))
  }

  fault(ex: Exchange, code: ErrorCode): Buffer | null {
    const { inner } = this.#options
    this.#work = null
    if (this.#error !== null) return inner.endWithError(this.#error)
    return joined(this.#rest(ex), this.#error === null ? inner.fault(ex, code) : inner.endWithError(this.#error))
  }

  // --- long events ---

  #begin(ex: Exchange, events: readonly WireEvent[]): void {
    this.#work = this.#steps(ex, events)
    this.#hasRoom = true
    setImmediate(() => this.#turn(ex))
  }

  *#steps(ex: Exchange, first: readonly WireEvent[]): Generator<undefined, void> {
    const { framing, guards } = this.#options
    let events = first
    for (;;) {
      for (const event of events) {
        const ready = isLong(event) ? yield* guards.steps(event) : guards.push(event)
        yield
        this.#send(ex, this.#pass(ex, ready))
      }
      const chunk = this.#late.shift()
      if (chunk === undefined) return
      const more: WireEvent[] = []
      framing.push(chunk, 0, chunk.length, more)
      events = more
    }
  }

  #turn(ex: Exchange): void {
    const work = this.#work
    if (work === null || ex.step === STEP_RECORDED) return
    if (ex.step !== STEP_SENDING) {
      setTimeout(() => this.#turn(ex), HEAD_MS)
      return
    }
    inTurn(() => {
      try {
        if (work.next().done === true) this.#work = null
        else setImmediate(() => this.#turn(ex))
      } catch (error) {
        this.#work = null
        this.#error = this.#errorOf(error)
      }
      if (this.#work === null) this.#done(ex)
    })
  }

  #done(ex: Exchange): void {
    const next = this.#next
    this.#next = null
    if (this.#error !== null) this.#options.fail(ex, 'UPSTREAM_PROTOCOL')
    else if (next !== null && this.isBusy) this.whenDone(next)
    else if (next !== null) next()
    else if (this.#hasRoom) ex.server?.resumeBody()
  }

  #send(ex: Exchange, bytes: Buffer | null): void {
    if (bytes !== null && bytes.length > 0) this.#hasRoom = sendResponse(ex, bytes)
  }

  endWithError(error: ChatError): Buffer | null {
    return this.#options.inner.endWithError(error)
  }

  /** What is still held, now that no more text can make it a match. */
  #rest(ex: Exchange): Buffer | null {
    try {
      const rest = this.#options.guards.end()
      this.#options.masked(ex)
      return this.#pass(ex, rest)
    } catch (error) {
      this.#error = this.#errorOf(error)
      return null
    }
  }

  #errorOf(error: unknown): ChatError {
    const why = error instanceof SseTooLong ? error.message : reasonOf(error)
    return { ...BROKEN, message: `the provider's answer cannot be read: ${why}` }
  }

  #pass(ex: Exchange, events: readonly WireEvent[]): Buffer | null {
    if (events.length === 0) return null
    const bytes = Buffer.from(events.map(frame).join(''))
    return this.#options.inner.body(ex, bytes, 0, bytes.length)
  }
}

function joined(first: Buffer | null, last: Buffer | null): Buffer | null {
  return first === null || last === null ? (first ?? last) : Buffer.concat([first, last])
}
