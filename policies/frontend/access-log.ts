/**
 * spec.frontend.accessLog: which exchanges are logged, and with which fields
 * (docs/specification.md#access-log). Its expressions run when an exchange is recorded, where no client waits for them.
 */

import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { writeFields } from '#engine/cel/log-fields.ts'
import { logElsewhere } from '#engine/cel/log-offload.ts'
import type { AccessLogPlan, LogFields } from '#engine/contract/access-log.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { cel, ONLY_FILES } from '#engine/schema/rule.ts'
import { deferred, refusedKeys, z } from '#engine/schema/schema.ts'
import { namesService } from '#engine/schema/service-ref.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import {
  type AttributeSource,
  addedEither,
  addedList,
  addedMap,
  attributeName,
  logExpression,
  readsOf,
  removed
} from '#policies/shared/log-attributes.ts'
import { batch, otlpFields, otlpPlan } from '#policies/shared/otlp/settings.ts'
import { recordNamesOf } from '#policies/shared/tracing/span-attributes.ts'

/** In the order of the line; the first three are not for the configuration to change. */
const LINE = ['time', 'level', 'target']
const DEFAULTS = [
  ...['listener', 'route', 'route.rule', 'endpoint', 'backend', 'src.addr', 'src.identity'],
  ...[
    'http.method',
    'http.host',
    'http.path',
    'http.version',
    'http.status',
    'grpc.status',
    'tls.sni',
    'trace.id',
    'span.id'
  ],
  ...['reason', 'reason.detail', 'bytes.in', 'bytes.out', 'request.id', 'retry.attempt'],
  ...['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.response.model'],
  ...['gen_ai.usage.input_tokens', 'gen_ai.usage.cache_creation.input_tokens', 'gen_ai.usage.cache_read.input_tokens'],
  ...['gen_ai.usage.output_tokens', 'gen_ai.usage.reasoning.output_tokens'],
  ...['gen_ai.usage.cost', 'weir.cost.basis', 'weir.cost.unknown', 'weir.cache'],
  ...[
    'mcp.method.name',
    'mcp.session.id',
    'mcp.protocol.version',
    'mcp.target',
    'gen_ai.tool.name',
    'gen_ai.prompt.name'
  ],
  ...[
    'mcp.resource.uri',
    'jsonrpc.request.id',
    'rpc.response.status_code',
    'error.type',
    'tls.sni',
    'protocol',
    'error',
    'duration'
  ]
]
const NAME = () =>
  attributeName().refine((name) => !LINE.includes(name), {
    error: `${LINE.join(', ')} cannot be replaced`,
    params: cel(`!(self in [${LINE.map((name) => `'${name}'`).join(', ')}])`)
  })

const added = () => atLeastOne({ add: addedEither(undefined, NAME).optional(), remove: removed().optional() })

/** What it does not say is as for the lines. */
const records = () =>
  z
    .strictObject({
      ...otlpFields('logs'),
      filter: logExpression('bool').optional().describe('In place of that of the lines.'),
      fields: added().optional().describe('In place of add and remove of the lines.'),
      batch: batch('log records').optional().describe('How log records are gathered before they leave.')
    })
    .check(namesService())

const schema = deferred(() =>
  z
    .strictObject({
      filter: logExpression('bool').optional().describe('Only exchanges for which it is true get a line.'),
      add: onlyInFiles(addedMap(NAME).optional()).describe('Further fields: names, each with its expression.'),
      remove: onlyInFiles(removed().optional()).describe('Default fields that are left out, for example http.method.'),
      attributes: atLeastOne({ add: addedList(NAME).optional(), remove: removed().optional() })
        .optional()
        .describe('Further fields, and default ones that are left out: add is a list of { name, expression }.'),
      otlp: records()
        .optional()
        .describe('The same as log records for a collector, beside the lines or, with log level request=off, alone.'),
      ...refusedKeys('access log setting', ['database'])
    })
    .refine(({ add, remove, attributes }) => attributes === undefined || (add === undefined && remove === undefined), {
      when: sound(),
      path: ['attributes'],
      error: 'says add and remove in another way: keep one of them',
      params: ONLY_FILES
    })
    .transform(({ filter, add, remove, attributes, otlp }) => ({
      otlp: otlp ?? null,
      filter: filter ?? null,
      add: add ?? attributes?.add ?? [],
      remove: remove ?? attributes?.remove ?? []
    }))
)

type Config = z.output<typeof schema>

function warnings({ remove, otlp }: Config): string[] {
  const unknown = [
    ...remove.filter((name) => !DEFAULTS.includes(name)),
    ...(otlp?.fields?.remove ?? []).filter((name) => recordNamesOf(name).length === 0)
  ]
  return unknown.map((name) => `no default field is called "${name}"; there are: ${DEFAULTS.join(', ')}`)
}

// --- build time ---

function compile({ filter, add, remove, otlp }: Config, context: CompileContext): Compiled {
  const line = compileFields({ filter, add, remove }, context, (name) => [name])
  const programs = [...line.programs]
  let records: AccessLogPlan['records'] = null
  if (otlp !== null) {
    const { fields = { add, remove } } = otlp
    const own = { filter: otlp.filter ?? filter, add: fields.add ?? [], remove: fields.remove ?? [] }
    const compiled = compileFields(own, context, recordNamesOf)
    programs.push(...compiled.programs)
    records = { ...compiled.plan, ...otlpPlan(otlp, 'logs', context, ['otlp']) }
  }
  const accessLogPlan: AccessLogPlan = { ...line.plan, records, ...readsOf(programs) }
  return { accessLog: accessLogPlan }
}

interface Fields {
  readonly filter: string | null
  readonly add: readonly AttributeSource[]
  readonly remove: readonly string[]
}

/** `namesOf`: what a name to be left out stands for. */
function compileFields(
  { filter, add, remove }: Fields,
  { offload }: CompileContext,
  namesOf: (name: string) => readonly string[]
): { readonly plan: LogFields; readonly programs: readonly Expression[] } {
  const condition = filter === null ? null : compileExpression(filter, LOG_ROOTS, 'bool')
  const fields = add.map(({ name, expression: source }) => ({ name, program: compileExpression(source, LOG_ROOTS) }))
  const plan: LogFields = {
    filter: condition === null ? null : (ex) => decide(condition, ex),
    // A field that is added under the name of a default one takes its place.
    skip: new Set([...remove.flatMap(namesOf), ...add.map(({ name }) => name)]),
    attributes: fields.length === 0 ? null : (ex, into) => writeFields(fields, ex, into),
    elsewhere: logElsewhere(condition, fields, (name, job, client) => offload.run(name, job, client))
  }
  return { plan, programs: [...fields.map(({ program }) => program), ...(condition === null ? [] : [condition])] }
}

// --- when an exchange is recorded ---

function decide(condition: Expression, ex: Exchange): boolean | null {
  const value = condition.run(ex)
  return typeof value === 'boolean' ? value : null
}

export const accessLog: Policy = { name: 'accessLog', section: 'frontend', schema, aliases: [], warnings, compile }
