/** How far failover goes: what it may add to the load of providers, and how long one that fails is left alone. */
import type { AiFailover } from '#backends/llm/config/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { whole, z } from '#engine/schema/schema.ts'

const COUNT_MAX = 1_000_000

/**
 * Without a bound of its own: a call is repeated at each other provider once at most. A provider that fails rests for a
 * second, then longer; what it asks for in Retry-After is respected up to five minutes: a mistaken header must not shut
 * it out for a day.
 */
export const FAILOVER_DEFAULT: AiFailover = {
  budget: { percent: 100, minPerSecond: 100 },
  cooldown: { failures: 1, firstMs: 1_000, maxMs: 60_000, retryAfterMaxMs: 300_000 }
}
/** Gateway API, retry budgets (GEP-3388), as of the policy `retry`. */
const BUDGET_SET = { percent: 20, minPerSecond: 10 }

const positive = () => positiveDuration('must be longer than 0')

export const failoverSettings = () =>
  atLeastOne({
    retryBudget: z
      .strictObject({
        percent: whole(0, 100).optional().describe('Further attempts per hundred calls of ten seconds. Default 20.'),
        minPerSecond: whole(0, COUNT_MAX).optional().describe('Further attempts that are always allowed. Default 10.')
      })
      .optional()
      .describe('What failover may add to the load of providers, per route and worker thread. Default: no bound.'),
    cooldown: atLeastOne({
      failures: whole(1, COUNT_MAX)
        .optional()
        .describe(
          'Failures in a row after which a provider is left alone; a Retry-After does that at once. Default 1.'
        ),
      first: positive()
        .optional()
        .describe('How long, the first time; twice as long with each further one. Default 1s.'),
      max: positive().optional().describe('As long at most. Default 60s.'),
      retryAfterMax: positive().optional().describe('As long at most when the provider itself asks for it. Default 5m.')
    })
      .optional()
      .describe('When a provider that fails is left alone, and how long.')
  }).describe('How far failover goes among several providers.')

export interface FileFailover {
  readonly retryBudget?:
    | { readonly percent?: number | undefined; readonly minPerSecond?: number | undefined }
    | undefined
  readonly cooldown?:
    | {
        readonly failures?: number | undefined
        readonly first?: number | undefined
        readonly max?: number | undefined
        readonly retryAfterMax?: number | undefined
      }
    | undefined
}

/** Undefined: the defaults. */
export function failoverOf(file: FileFailover | undefined): AiFailover | undefined {
  if (file === undefined) return undefined
  const { retryBudget, cooldown = {} } = file
  const { percent = BUDGET_SET.percent, minPerSecond = BUDGET_SET.minPerSecond } = retryBudget ?? {}
  const usual = FAILOVER_DEFAULT.cooldown
  const { failures = usual.failures, first = usual.firstMs, max = Math.max(usual.maxMs, first) } = cooldown
  return {
    budget: retryBudget === undefined ? FAILOVER_DEFAULT.budget : { percent, minPerSecond },
    cooldown: {
      failures,
      firstMs: first,
      maxMs: max,
      retryAfterMaxMs: cooldown.retryAfterMax ?? usual.retryAfterMaxMs
    }
  }
}
