/**
 * spec.frontend.accessLog: which exchanges are logged, and with which fields
 * (docs/specification.md#access-log). Its expressions run when an exchange is recorded, where no client waits for them.
 */
import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { writeFields } from '#engine/cel/log-fields.ts'
import { logElsewhere } from '#engine/cel/log-offload.ts'
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, refusedKeys, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { addedList, addedMap, attributeName, logExpression, readsOf, removed } from '#policies/shared/log-attributes.ts'

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
const NAME = () => attributeName().refine((name) => !LINE.includes(name), `${LINE.join(', ')} cannot be replaced`)

const schema = deferred(() =>
  z
    .strictObject({
      filter: logExpression('bool').optional().describe('Only exchanges for which it is true get a line.'),
      add: addedMap(NAME).optional().describe('Further fields: names, each with its expression.'),
      remove: removed().optional().describe('Default fields that are left out, for example http.method.'),
      attributes: atLeastOne({ add: addedList(NAME).optional(), remove: removed().optional() })
        .optional()
        .describe('add and remove as in the resource: add is a list of { name, expression }.'),
      ...refusedKeys('access log setting', ['database', 'otlp'])
    })
    .refine(({ add, remove, attributes }) => attributes === undefined || (add === undefined && remove === undefined), {
      when: sound(),
      path: ['attributes'],
      error: 'says add and remove in another way: keep one of them'
    })
    .transform(({ filter, add, remove, attributes }) => ({
      filter: filter ?? null,
      add: add ?? attributes?.add ?? [],
      remove: remove ?? attributes?.remove ?? []
    }))
)

type Config = z.output<typeof schema>

function warnings({ remove }: Config): string[] {
  const unknown = remove.filter((name) => !DEFAULTS.includes(name))
  return unknown.map((name) => `no default field is called "${name}"; there are: ${DEFAULTS.join(', ')}`)
}

// --- build time ---

function compile({ filter, add, remove }: Config, { offload }: CompileContext): Compiled {
  const condition = filter === null ? null : compileExpression(filter, LOG_ROOTS, 'bool')
  const fields = add.map(({ name, expression: source }) => ({ name, program: compileExpression(source, LOG_ROOTS) }))
  const programs = [...fields.map(({ program }) => program), ...(condition === null ? [] : [condition])]
  const plan: AccessLogPlan = {
    filter: condition === null ? null : (ex) => decide(condition, ex),
    // A field that is added under the name of a default one takes its place.
    skip: new Set([...remove, ...add.map(({ name }) => name)]),
    attributes: fields.length === 0 ? null : (ex, into) => writeFields(fields, ex, into),
    elsewhere: logElsewhere(condition, fields, (name, job, client) => offload.run(name, job, client)),
    ...readsOf(programs)
  }
  return { accessLog: plan }
}

// --- when an exchange is recorded ---

function decide(condition: Expression, ex: Exchange): boolean | null {
  const value = condition.run(ex)
  return typeof value === 'boolean' ? value : null
}

export const accessLog: Policy = { name: 'accessLog', section: 'frontend', schema, aliases: [], warnings, compile }
