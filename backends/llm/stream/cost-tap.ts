/** Taps of answers that come as events: each knows what its answer has cost, and can end it with an error. */
import type { ChatError, ChatEvent, StopReason, Usage } from '#backends/llm/conversation.ts'
import type { StreamWriter } from '#backends/llm/formats/format.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange, ResponseTap } from '#engine/contract/exchange.ts'

/** For the end of an answer that was complete before its connection was. */
export const NOTHING = Buffer.alloc(0)

export const BROKEN: ChatError = { status: 502, type: 'internal', message: '', code: null, param: null }

/** Errors that say something of the provider, and not of what it was asked. */
const OF_PROVIDER: ReadonlySet<ChatError['type']> = new Set(['rateLimit', 'quota', 'overloaded', 'timeout', 'internal'])

export const isOfProvider = ({ type }: ChatError): boolean => OF_PROVIDER.has(type)

/** The cost of an answer, as far as the provider has sent it. */
export class AnswerCost {
  usage: Usage | null = null
  model: string | null = null
  serviceTier: string | null = null
  errorType: string | null = null
  id: string | null = null
  /** Of each choice that has ended, at its index. */
  stops: (StopReason | undefined)[] | null = null
  /** The answer has ended, or has been ended: what comes now says nothing. */
  isOver = false
  /** Pieces of text, thoughts or arguments that have come. */
  pieceCount = 0
  /** The provider has begun to answer, and failed. */
  hasBroken = false

  note(event: ChatEvent): void {
    if (event.kind === 'delta') this.pieceCount++
    else if (event.kind === 'usage') {
      this.usage = event.usage
      this.serviceTier = event.serviceTier
    } else if (event.kind === 'start') {
      this.usage = event.usage
      this.model = event.model
      this.id = event.id
    } else if (event.kind === 'stop') {
      this.stops ??= []
      this.stops[event.choice] = event.stop
    } else if (event.kind === 'done') this.isOver = true
    else if (event.kind === 'error') {
      this.fail(event.error)
      this.hasBroken = isOfProvider(event.error)
    }
  }

  fail({ type }: ChatError): void {
    this.isOver = true
    this.errorType = type
  }
}

export interface CostTap extends ResponseTap {
  readonly cost: AnswerCost
  /** Whether something may be put behind what has been passed: never within an event. */
  readonly isAtBoundary: boolean
  /** Ends the client's stream with an error in its own words, unless it has ended. The provider is not to blame. */
  endWithError(error: ChatError): Buffer | null
  /** The exchange is over. */
  stop?(): void
}

/** One that says errors in the words of the client's format. */
export abstract class EndingTap {
  readonly cost = new AnswerCost()
  /** The error that ends the answer cannot be written. */
  #isAbrupt = false

  abstract get isAtBoundary(): boolean

  protected abstract errorWriter(): StreamWriter

  fault(_ex: Exchange, code: ErrorCode): Buffer | null {
    if (this.#isAbrupt || !this.isAtBoundary) return null
    if (this.cost.isOver) return NOTHING
    const { message, source } = ERRORS[code]
    const text = this.breakOff({ ...BROKEN, message })
    this.cost.hasBroken = source === 'upstream'
    return text
  }

  endWithError(error: ChatError): Buffer | null {
    if (this.cost.isOver || !this.isAtBoundary) return null
    const text = this.breakOff(error)
    this.cost.hasBroken = false
    return text
  }

  /** Ends the client's stream with an error; the provider is to blame. Null: nothing can be said. */
  protected breakOff(error: ChatError): Buffer | null {
    this.cost.fail(error)
    this.cost.hasBroken = true
    try {
      const text = this.errorWriter().write({ kind: 'error', error })
      return text === '' ? null : Buffer.from(text)
    } catch {
      // What has been collected is too deep to be written: the connection says it.
      this.#isAbrupt = true
      return null
    }
  }
}
