/**
 * spec.frontend.tracing: which requests are traced, what their spans say, and where spans go
 * (docs/specification.md#tracing). docs/tracing.md is the page for users.
 */

import { LOG_ROOTS, REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import type { Value } from '#engine/cel/index.ts'
import { writeFields } from '#engine/cel/log-fields.ts'
import { logElsewhere } from '#engine/cel/log-offload.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import type { Sampling, TracingPlan } from '#engine/contract/tracing.ts'
import { PROPAGATOR_NAMES } from '#engine/http/propagation/propagators.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { deferred, list, refusedKeys, z } from '#engine/schema/schema.ts'
import { namesService } from '#engine/schema/service-ref.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import { attributesSchema, readsOf, removed } from '#policies/shared/log-attributes.ts'
import { batch, otlpFields, otlpPlan } from '#policies/shared/otlp/settings.ts'
import { configTracing } from '#policies/shared/tracing/config-tracing.ts'
import { samplingFields } from '#policies/shared/tracing/sampling.ts'
import { DEFAULT_ATTRIBUTES, spanNamesOf } from '#policies/shared/tracing/span-attributes.ts'

const schema = deferred(() =>
  z
    .strictObject({
      ...otlpFields('traces'),
      ...samplingFields(),
      attributes: attributesSchema()
        .optional()
        .describe('Of the span of a request: names with expressions, or add and remove.'),
      remove: onlyInFiles(removed().optional()).describe('Default attributes that are left out, for example url.path.'),
      propagators: list(z.enum(PROPAGATOR_NAMES), 1, PROPAGATOR_NAMES.length)
        .optional()
        .describe(
          'Formats of trace headers, the one that is looked for first in front. Default tracecontext, baggage.'
        ),
      batch: batch('spans').optional().describe('How spans are gathered before they leave.'),
      ...refusedKeys('tracing setting', ['filter', 'headers', 'policies', 'service'])
    })
    .check(namesService())
    .refine(({ remove, attributes }) => remove === undefined || (attributes?.remove.length ?? 0) === 0, {
      when: sound(),
      path: ['remove'],
      error: 'says again what attributes.remove says: keep one of them',
      params: ONLY_FILES
    })
)

/** In the spelling of frontendPolicies, or of `config`. */
type Config = Partial<Omit<z.output<typeof schema>, 'headers'>> & Partial<z.output<ReturnType<typeof configTracing>>>

function warnings({ remove = [], attributes, randomSampling }: Config): string[] {
  const unknown = [...remove, ...(attributes?.remove ?? [])].filter((name) => spanNamesOf(name).length === 0)
  const messages = unknown.map(
    (name) => `no default attribute is called "${name}"; there are: ${DEFAULT_ATTRIBUTES.join(', ')}`
  )
  if (randomSampling === undefined) {
    messages.push('traces only what clients trace: with randomSampling, requests without a trace begin one')
  }
  return messages
}

/** Where Langfuse takes OTLP, in its cloud and elsewhere ("OpenTelemetry", endpoint). */
const LANGFUSE_PATH = /\/api\/public\/otel\/v1\/traces(?:\?|$)/

// --- build time ---

function compile(config: Config, context: CompileContext): Compiled {
  const { attributes, remove = [], propagators = ['tracecontext', 'baggage'] } = config
  const { add = [] } = attributes ?? {}
  const left = [...remove, ...(attributes?.remove ?? [])]
  const fields = add.map(({ name, expression: source }) => ({ name, program: compileExpression(source, LOG_ROOTS) }))
  const plan: TracingPlan = {
    ...otlpPlan(config, 'traces', context),
    isForLangfuse: LANGFUSE_PATH.test(config.path ?? ''),
    propagators,
    randomSampling: samplingOf(config.randomSampling, context),
    clientSampling: samplingOf(config.clientSampling, context),
    // An attribute that is added under the name of a default one takes its place.
    skip: new Set([...left.flatMap(spanNamesOf), ...add.map(({ name }) => name)]),
    attributes: fields.length === 0 ? null : (ex, into) => writeFields(fields, ex, into),
    elsewhere: logElsewhere(null, fields, (name, job, client) => context.offload.run(name, job, client)),
    ...readsOf(fields.map(({ program }) => program))
  }
  return { tracing: plan }
}

function samplingOf(value: Config['randomSampling'], context: CompileContext): Sampling | null {
  if (value === undefined) return null
  if (typeof value !== 'string') {
    const share = Number(value)
    return () => share
  }
  const program = compileExpression(value, REQUEST_ROOTS)
  return (ex) => shareOf(program.run(ex), context)
}

// --- request time ---

/** 0, and counted, where an expression gives neither a boolean nor a number (docs/specification.md#tracing). */
function shareOf(value: Value, { failed }: CompileContext): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  const share = typeof value === 'object' && value !== null && 'value' in value ? Number(value.value) : value
  if (typeof share === 'number' && !Number.isNaN(share)) return Math.min(Math.max(share, 0), 1)
  failed('tracing')
  return 0
}

export const tracing: Policy = {
  name: 'tracing',
  section: 'frontend',
  schema,
  inConfig: deferred(configTracing),
  aliases: [],
  warnings,
  compile
}
