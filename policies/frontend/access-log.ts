/**
 * spec.frontend.accessLog: which exchanges are logged, and with which fields (spec 2.6, AccessLog and
 * LogTracingAttributes). Its expressions run when an exchange is recorded, where no client waits for them.
 */
import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression, expression } from '#engine/cel/expression.ts'
import { CelError, compile as compileCel, toJson, type Value } from '#engine/cel/index.ts'
import { Flattened } from '#engine/cel/lib/json.ts'
import { isList, isMap, keysOf, valueAt } from '#engine/cel/maps.ts'
import { Optional } from '#engine/cel/values.ts'
import type { AccessLogPlan, FieldSink } from '#engine/contract/access-log.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Compiled } from '#engine/contract/filter.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { isSecret } from '#engine/kit/secret.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { list, refusedKeys, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'

/** The spec sets no upper bound for what is added; 64 is that of its maps. */
const ADDED_MAX = 64
const REMOVED_MAX = 32
/** Fields that one flatten() may become, and levels of flattenRecursive(). */
const SPREAD_MAX = 64
const DEPTH_MAX = 8
const KEY_CHARS_MAX = 64
const REDACTED = '<redacted>'

/** In the order of the line; the first three are not for the configuration to change. */
const LINE = ['time', 'level', 'target']
const DEFAULTS = [
  ...['listener', 'route', 'endpoint', 'backend', 'src.addr', 'src.identity'],
  ...['http.method', 'http.host', 'http.path', 'http.version', 'http.status', 'grpc.status', 'tls.sni'],
  ...['reason', 'reason.detail', 'bytes.in', 'bytes.out', 'retry.attempt'],
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
/** Fields of a map that hold credentials, whoever names the map. One that is named itself is meant. */
const SENSITIVE = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key', 'api-key'],
  ...['password', 'secret', 'client_secret', 'access_token', 'refresh_token', 'id_token']
])

const NO_BODY =
  'bodies are not kept for the log: request.body, request.bodyPrefix and those of the response, and request or ' +
  'response as a whole, cannot be read'

const logExpression = (result: 'any' | 'bool') =>
  expression(LOG_ROOTS, result).superRefine((source, context) => {
    const compiled = compileCel(source, { roots: LOG_ROOTS, result })
    if (!compiled.ok || !compiled.program.needs.anyBody) return
    context.addIssue({ code: 'custom', message: NO_BODY })
  })

const attributeName = () =>
  shortString()
    .regex(/^[!#-<>-[\]-~]+$/, 'must be printable ASCII without spaces, quotes, "=" and backslashes')
    .refine((name) => !LINE.includes(name), `${LINE.join(', ')} cannot be replaced`)

const NAME = attributeName()

interface Attribute {
  readonly name: string
  readonly expression: string
}

/** `add` of the file: a map from names to expressions. */
const addedMap = () =>
  z
    .record(z.string(), logExpression('any'))
    .superRefine((map, context) => {
      const names = Object.keys(map)
      if (names.length < 1 || names.length > ADDED_MAX) {
        context.addIssue({ code: 'custom', message: `must have 1 to ${ADDED_MAX} entries` })
      }
      for (const name of names) {
        const problem = NAME.safeParse(name).error?.issues[0]
        if (problem !== undefined) context.addIssue({ code: 'custom', path: [name], message: problem.message })
      }
    })
    .transform((map): readonly Attribute[] =>
      Object.entries(map).map(([name, source]) => ({ name, expression: source }))
    )
    .meta({ minProperties: 1, maxProperties: ADDED_MAX })

/** `attributes.add` of the resource. */
const addedList = () =>
  list(z.strictObject({ name: attributeName(), expression: logExpression('any') }), 1, ADDED_MAX).superRefine(
    (added, context) => {
      added.forEach(({ name }, i) => {
        if (added.findIndex((other) => other.name === name) === i) return
        context.addIssue({ code: 'custom', path: [i, 'name'], message: `there is already a field "${name}"` })
      })
    }
  )

const removed = () => list(tinyString(), 1, REMOVED_MAX)

const schema = z
  .strictObject({
    filter: logExpression('bool').optional().describe('Only exchanges for which it is true get a line.'),
    add: addedMap().optional().describe('Further fields: names, each with its expression.'),
    remove: removed().optional().describe('Default fields that are left out, for example http.method.'),
    attributes: atLeastOne({ add: addedList().optional(), remove: removed().optional() })
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

type Config = z.output<typeof schema>

function warnings({ remove }: Config): string[] {
  const unknown = remove.filter((name) => !DEFAULTS.includes(name))
  return unknown.map((name) => `no default field is called "${name}"; there are: ${DEFAULTS.join(', ')}`)
}

// --- build time ---

function compile({ filter, add, remove }: Config): Compiled {
  const condition = filter === null ? null : compileExpression(filter, LOG_ROOTS, 'bool')
  const fields = add.map(({ name, expression: source }) => ({ name, program: compileExpression(source, LOG_ROOTS) }))
  const programs = [...fields.map(({ program }) => program), ...(condition === null ? [] : [condition])]
  const plan: AccessLogPlan = {
    filter: condition === null ? null : (ex) => decide(condition, ex),
    // A field that is added under the name of a default one takes its place.
    skip: new Set([...remove, ...add.map(({ name }) => name)]),
    attributes: fields.length === 0 ? null : (ex, into) => write(fields, ex, into),
    readsAnswers: programs.some(({ needs }) => needs.reads('llm.completion') || needs.reads('llm.toolCalls')),
    readsTimes: programs.some(({ needs }) => needs.times)
  }
  return { accessLog: plan }
}

// --- when an exchange is recorded ---

function decide(condition: Expression, ex: Exchange): boolean | null {
  const value = condition.run(ex)
  return typeof value === 'boolean' ? value : null
}

interface Field {
  readonly name: string
  readonly program: Expression
}

/** Returns how many had no value that can be written. */
function write(fields: readonly Field[], ex: Exchange, into: FieldSink): number {
  let failed = 0
  for (const { name, program } of fields) {
    const value = program.run(ex)
    const done = value instanceof Flattened ? spread(name, value, into) : put(name, value, into)
    if (!done) failed++
  }
  return failed
}

function put(name: string, value: Value, into: FieldSink): boolean {
  const plain = plainOf(value)
  if (plain === null && value instanceof Optional) return true
  return plain !== undefined && into.add(name, plain)
}

/** What a field can hold: maps and lists are JSON text. Undefined when there is none. */
function plainOf(value: Value): string | number | boolean | null | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
  if (value instanceof CelError) return undefined
  if (isSecret(value)) return REDACTED
  if (value instanceof Flattened) return plainOf(value.value)
  const text = jsonText(value, 0)
  if (text === undefined || isMap(value) || isList(value)) return text
  // Numbers, times, bytes and types of libraries: their JSON is a scalar.
  return JSON.parse(text) as string | number | boolean | null
}

/** JSON in which no credential stands; undefined where some part has no JSON. */
function jsonText(value: Value, depth: number): string | undefined {
  if (depth > DEPTH_MAX) return undefined
  if (isSecret(value)) return JSON.stringify(REDACTED)
  if (value instanceof CelError) return undefined
  if (isList(value))
    return joined(
      value.map((item) => jsonText(item, depth + 1)),
      '[',
      ']'
    )
  if (!isMap(value)) {
    const text = toJson(value)
    return typeof text === 'string' ? text : undefined
  }
  const entries = keysOf(value)!.map((key) => {
    const text = isSensitive(key) ? JSON.stringify(REDACTED) : jsonText(valueAt(value, key), depth + 1)
    return text === undefined ? undefined : `${JSON.stringify(String(key))}:${text}`
  })
  return joined(entries, '{', '}')
}

function joined(parts: readonly (string | undefined)[], open: string, close: string): string | undefined {
  return parts.includes(undefined) ? undefined : `${open}${parts.join(',')}${close}`
}

function isSensitive(key: Value): boolean {
  return typeof key === 'string' && SENSITIVE.has(key.toLowerCase())
}

/** flatten(): one field per entry. What is no map and no list stays one field. */
function spread(name: string, { value, isRecursive }: Flattened, into: FieldSink): boolean {
  let left = SPREAD_MAX
  const visit = (at: string, item: Value, depth: number): boolean => {
    const isSpread = (depth === 0 || isRecursive) && depth < DEPTH_MAX
    if (isSpread && isList(item)) return item.every((one, i) => visit(`${at}.${i}`, one, depth + 1))
    if (isSpread && isMap(item)) {
      return keysOf(item)!.every((key) =>
        visit(`${at}.${keyText(key)}`, isSensitive(key) ? REDACTED : valueAt(item, key), depth + 1)
      )
    }
    return left-- > 0 && put(at, item, into)
  }
  return visit(name, value, 0)
}

/** Keys may be a client's (headers, claims): what could end a name or a line is replaced. */
function keyText(key: Value): string {
  return String(key)
    .slice(0, KEY_CHARS_MAX)
    .replace(/[^A-Za-z0-9_.@/-]/g, '_')
}

export const accessLog: Policy = { name: 'accessLog', section: 'frontend', schema, aliases: [], warnings, compile }
