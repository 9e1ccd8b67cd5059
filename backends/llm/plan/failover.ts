/** Failover within a request: each other provider once, before the client has got anything. */
import { hasFailedHead, isFailure } from '#backends/llm/answer/masked-errors.ts'
import type { ErrorClass } from '#backends/llm/config/snapshot.ts'
import type { ChatError } from '#backends/llm/conversation.ts'
import { type Filtered, firstEvent } from '#backends/llm/stream/first-event.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek, RetryPlan } from '#engine/contract/filter.ts'
import type { BudgetLimits } from '#engine/kit/retry-budget.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderSlot } from './balancer.ts'
import { errorBody } from './error-body.ts'
import { classOfError, classOfFault, classOfStatus, QUOTED } from './error-class.ts'
import type { Fallbacks } from './fallbacks.ts'
import type { ProviderRuntime } from './provider-runtime.ts'

export interface FailoverOptions {
  readonly groups: readonly (readonly ProviderSlot<ProviderRuntime>[])[]
  readonly fallbacks: Fallbacks
  /** Of providers, more than one, with those of all lists. */
  readonly total: number
  readonly budget: BudgetLimits
  /** Null: ex has not been tried at this backend. */
  readonly attemptsOf: (ex: Exchange) => Attempts | null
  readonly random: () => number
}

export function failover(options: FailoverOptions): RetryPlan {
  const { total, fallbacks, attemptsOf } = options
  return {
    attempts: total - 1,
    codes: new Set([502, 503, 504]),
    backoffMs: 0,
    precondition: null,
    peek: (ex) => peek(ex, options),
    condition: (ex) => {
      const state = attemptsOf(ex)
      return state?.attempt != null && (hasFailed(ex, state) || fallbacks.has(classOfStatus(ex.status), state))
    },
    budget: options.budget,
    mayFollow: (ex, code) => mayFollow(ex, code, options)
  }
}

/** Whether the head of the answer says that the provider that was asked has failed. */
export const hasFailed = (ex: Exchange, state: Attempts | null): boolean =>
  state?.format == null ? isFailure(ex.status) : hasFailedHead(ex)

function peek(ex: Exchange, { attemptsOf, fallbacks, random }: FailoverOptions): Peek | null {
  const state = attemptsOf(ex)
  const { attempt = null, format = null } = state ?? {}
  if (state === null || attempt === null || format === null) return null
  const refused = (error: ChatError): void => {
    state.failure = classOfError(error) ?? 'server_error'
    attempt.failed(performance.now(), null, random())
  }
  if (ex.status === QUOTED || fallbacks.reads(ex.status)) {
    return errorBody(ex, format, (error) => {
      const hasFailed = ex.status === QUOTED && isFailure(error.status)
      if (hasFailed) refused(error)
      else state.failure = classOfError(error)
      return hasFailed || fallbacks.has(state.failure, state)
    })
  }
  const filtered = (what: Filtered): void => {
    state.failure = 'content_policy'
    // The provider has read the request, and has it paid.
    settleUsage(ex, what)
  }
  // Of several answers that were asked for at once, one may be whole.
  const readsFilters = state.chat?.count === 1 && fallbacks.has('content_policy', state)
  return firstEvent(ex, format, { refused, filtered: readsFilters ? filtered : null })
}

/** Whether there is anybody to be asked after this failure. */
function mayFollow(ex: Exchange, code: ErrorCode | null, { attemptsOf, fallbacks, groups }: FailoverOptions): boolean {
  const state = attemptsOf(ex)
  if (state === null) return true
  const why: ErrorClass = code !== null ? classOfFault(code) : (classOfStatus(ex.status) ?? 'server_error')
  state.failure ??= why
  return fallbacks.slots.length === 0 || fallbacks.isLeft(state.failure, state, groups)
}
