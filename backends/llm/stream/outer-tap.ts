/** A tap around another: all that it does not do itself goes to that one. */
import type { ChatError } from '#backends/llm/conversation.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { AnswerCost, CostTap } from './cost-tap.ts'

export abstract class OuterTap implements CostTap {
  readonly cost: AnswerCost
  protected readonly inner: CostTap

  constructor(inner: CostTap) {
    this.cost = inner.cost
    this.inner = inner
  }

  abstract body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null

  get isAtBoundary(): boolean {
    return this.inner.isAtBoundary
  }

  get isBusy(): boolean {
    return this.inner.isBusy === true
  }

  whenDone(step: () => void): void {
    this.inner.whenDone?.(step)
  }

  end(ex: Exchange): Buffer | null {
    return this.inner.end(ex)
  }

  fault(ex: Exchange, code: ErrorCode): Buffer | null {
    return this.inner.fault(ex, code)
  }

  goesOn(ex: Exchange, code: ErrorCode | null): boolean {
    return this.inner.goesOn?.(ex, code) ?? false
  }

  endWithError(error: ChatError): Buffer | null {
    return this.inner.endWithError(error)
  }
}
