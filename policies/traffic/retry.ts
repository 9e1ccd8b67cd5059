/**
 * spec.traffic.retry: what is done when an attempt fails (Gateway API HTTPRouteRetry, with conditions in CEL
 * and a budget). How it is done: docs/design/011-retries.md.
 */
import { REQUEST_ROOTS, RESPONSE_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression, expression } from '#engine/cel/expression.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { duration } from '#engine/schema/duration.ts'
import { deferred, list, whole, z } from '#engine/schema/schema.ts'

const ATTEMPTS_MAX = 32
const ATTEMPTS_DEFAULT = 1
const CODES_MAX = 200
/** Long enough for a backend that restarts a connection, and not felt by a person. */
const BACKOFF_DEFAULT_MS = 25
/** Gateway API, retry budgets (GEP-3388). */
const PERCENT_DEFAULT = 20
const MIN_PER_SECOND_DEFAULT = 10

const schema = deferred(() =>
  z.strictObject({
    attempts: whole(0, ATTEMPTS_MAX)
      .optional()
      .describe('Attempts after the first one: 2 means three tries at most. 0 turns retries off. Default 1.'),
    codes: list(whole(400, 599), 0, CODES_MAX)
      .optional()
      .describe('Statuses of responses that lead to another attempt; 502 and 504 also stand for resets and timeouts.'),
    backoff: duration()
      .optional()
      .describe('Upper bound of the random pause before the first retry; it doubles up to ten times. Default 25ms.'),
    precondition: expression(REQUEST_ROOTS, 'bool').optional().describe('Whether the request may be repeated at all.'),
    condition: expression(RESPONSE_ROOTS, 'bool').optional().describe('Whether the response asks for another attempt.'),
    budget: z
      .strictObject({
        percent: whole(0, 100).optional().describe('Retries per hundred requests of ten seconds. Default 20.'),
        minPerSecond: whole(0, 1_000_000).optional().describe('Retries that are always allowed. Default 10.')
      })
      .optional()
      .describe('Bounds what retries add to the load of backends that fail, per route and worker thread.')
  })
)

// --- build time ---

function compile(config: z.output<typeof schema>): Compiled {
  const { attempts = ATTEMPTS_DEFAULT, codes = [], backoff = BACKOFF_DEFAULT_MS, budget } = config
  if (attempts === 0) return {}
  const { condition } = config
  const needs = condition === undefined ? null : compileExpression(condition, RESPONSE_ROOTS).needs
  const { percent = PERCENT_DEFAULT, minPerSecond = MIN_PER_SECOND_DEFAULT } = budget ?? {}
  return {
    retry: {
      attempts,
      codes: new Set(codes),
      backoffMs: backoff,
      precondition: question('precondition', config.precondition, REQUEST_ROOTS),
      condition: question('condition', condition, RESPONSE_ROOTS),
      budget: { percent, minPerSecond }
    },
    ...(needs?.times === true ? { readsTimes: true } : {}),
    ...(needs?.routing === true ? { readsRouting: true } : {})
  }
}

function question(field: string, source: string | undefined, roots: typeof REQUEST_ROOTS) {
  if (source === undefined) return null
  const program: Expression = compileExpression(source, roots, 'bool')
  // It is asked while bodies are still on their way; waiting for them would delay every request.
  if (program.needs.anyBody) {
    throw new Error(`${field} cannot read a body: use headers, method, path or status`)
  }
  // --- request time: an expression that fails is not true, so nothing is repeated because of it ---
  return (ex: Exchange): boolean => program.run(ex) === true
}

export const retry: Policy = { name: 'retry', section: 'traffic', schema, aliases: [], compile }
