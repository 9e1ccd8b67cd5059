/**
 * spec.frontend.metrics: where metrics go beside the Prometheus port. docs/tracing.md is the page for users.
 */

import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { cel } from '#engine/schema/rule.ts'
import { deferred, refusedKeys, z } from '#engine/schema/schema.ts'
import { namesService } from '#engine/schema/service-ref.ts'
import { exportTimeout, otlpFields, otlpPlan, positive } from '#policies/shared/otlp/settings.ts'

const INTERVAL_MS = 60_000
/** A timer that is set for longer rings at once. */
const INTERVAL_MS_MAX = 2 ** 31 - 1

const schema = deferred(() =>
  z.strictObject({
    otlp: z
      .strictObject({
        ...otlpFields('metrics'),
        interval: positive()
          .refine((ms) => ms <= INTERVAL_MS_MAX, {
            error: 'must be at most 24 days',
            params: cel(`duration(self) <= duration('${INTERVAL_MS_MAX}ms')`)
          })
          .optional()
          .describe('How often the metrics of all workers are sent, by one of them. Default 60s.'),
        exportTimeout: exportTimeout()
      })
      .check(namesService())
      .describe('All metrics of the Prometheus port, for a collector.'),
    ...refusedKeys('metrics setting', ['attributes', 'fields', 'remove'])
  })
)

type Config = z.output<typeof schema>

function compile({ otlp }: Config, context: CompileContext): Compiled {
  const timeout = otlp.exportTimeout === undefined ? {} : { batch: { exportTimeout: otlp.exportTimeout } }
  const plan = otlpPlan({ ...otlp, ...timeout }, 'metrics', context, ['otlp'])
  return { metrics: { ...plan, intervalMs: otlp.interval ?? INTERVAL_MS } }
}

export const metrics: Policy = { name: 'metrics', section: 'frontend', schema, aliases: [], compile }
