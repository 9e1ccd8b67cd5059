/** Which share of requests is traced, as a configuration says it (docs/specification.md#tracing). */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { compile as compileCel } from '#engine/cel/index.ts'
import { enforcedAs, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'

const NUMBERS: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'dyn'])
const NO_SHARE = 'must be a boolean or a number from 0.0 to 1.0'

/** A share as a number, a boolean, or an expression that gives one of them for a request. */
const sampling = () => {
  const computed = expression(REQUEST_ROOTS).superRefine((source, context) => {
    const compiled = compileCel(source, { roots: REQUEST_ROOTS })
    if (!compiled.ok) return
    const { type, needs } = compiled.program
    if (!NUMBERS.has(type)) context.addIssue({ code: 'custom', message: NO_SHARE })
    if (needs.anyBody) context.addIssue({ code: 'custom', message: 'is decided before a body is read' })
  }, enforcedAs(ONLY_GATEWAY))
  const either = z.union([z.boolean(), z.number().min(0, NO_SHARE).max(1, NO_SHARE), computed], {
    error: ({ input }) => (typeof input === 'string' ? undefined : NO_SHARE)
  })
  return inResources(either, computed)
}

/** Fields of a policy that decides what is traced. */
export const samplingFields = () => ({
  randomSampling: sampling()
    .optional()
    .describe('Share of the requests without a trace for which one is begun: 0.0 to 1.0, or a boolean. Default 0.'),
  clientSampling: sampling()
    .optional()
    .describe('Share of the traces sampled by clients in which spans are recorded here. Default 1.')
})
