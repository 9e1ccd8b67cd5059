/**
 * A stream whose events are the client's own, in another framing than the client's: those of Claude on Bedrock and of
 * containers on SageMaker come in messages of AWS event streams. It stands ahead of the tap that gets them as
 * server-sent events.
 */
import type { ChatError } from '#backends/llm/conversation.ts'
import { readStreamError } from '#backends/llm/formats/converse/error.ts'
import { reasonOf, type StreamWriter, type WireEvent } from '#backends/llm/formats/format.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type AnswerCost, BROKEN, type CostTap, NOTHING } from './cost-tap.ts'
import { type Framing, isException, LINE_ENDS } from './framing.ts'
import { frame } from './translating-tap.ts'

export interface ReframingTapOptions {
  /** Gets server-sent events. */
  readonly inner: CostTap
  /** Of the provider's bytes. */
  readonly framing: Framing
  /** Of the client's format: exceptions of AWS are errors in its words. */
  readonly writer: () => StreamWriter
  /** The answer cannot be read: the provider need not go on. */
  readonly giveUp: () => void
}

export class ReframingTap implements CostTap {
  readonly cost: AnswerCost
  readonly #parties: ReframingTapOptions
  #isLost = false

  constructor(parties: ReframingTapOptions) {
    this.#parties = parties
    this.cost = parties.inner.cost
  }

  get isAtBoundary(): boolean {
    return this.#parties.inner.isAtBoundary
  }

  get isBusy(): boolean {
    return this.#parties.inner.isBusy ?? false
  }

  whenDone(step: () => void): void {
    this.#parties.inner.whenDone?.(step)
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#isLost) return null
    const { inner, framing, giveUp } = this.#parties
    const events: WireEvent[] = []
    let fault: unknown = null
    try {
      framing.push(chunk, start, end, events)
    } catch (error) {
      fault = error
    }
    const text = events.map((event) => this.#framed(event)).join('')
    const bytes = Buffer.from(text)
    const passed = bytes.length === 0 ? null : inner.body(ex, bytes, 0, bytes.length)
    if (fault === null) return passed
    this.#isLost = true
    queueMicrotask(giveUp)
    const last = inner.endWithError({ ...BROKEN, message: `the provider's answer cannot be read: ${reasonOf(fault)}` })
    return Buffer.concat([passed ?? NOTHING, last ?? NOTHING])
  }

  end(ex: Exchange): Buffer | null {
    const last = this.body(ex, LINE_ENDS, 0, LINE_ENDS.length)
    const rest = this.#parties.inner.end(ex)
    return last === null || rest === null ? (last ?? rest) : Buffer.concat([last, rest])
  }

  fault(ex: Exchange, code: ErrorCode): Buffer | null {
    return this.#parties.inner.fault(ex, code)
  }

  endWithError(error: ChatError): Buffer | null {
    return this.#parties.inner.endWithError(error)
  }

  stop(): void {
    this.#parties.inner.stop?.()
  }

  #framed(event: WireEvent): string {
    if (!isException(event)) return frame(event)
    return this.#parties.writer().write({ kind: 'error', error: readStreamError(event.name, event.data) })
  }
}
