/** What policies say of logs and traces: fields that expressions add, and default ones that are left out. */

import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { type Expression, expression } from '#engine/cel/expression.ts'
import { compile as compileCel } from '#engine/cel/index.ts'
import { atLeastOne, byShape, unfit } from '#engine/schema/choice.ts'
import { enforcedAs, ONLY_GATEWAY, uniqueBy } from '#engine/schema/rule.ts'
import { ENTRIES_MAX, list, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'

/** docs/specification.md#access-log. */
const REMOVED_MAX = 32

const NO_BODY =
  'bodies are not kept for the log: request.body, request.bodyPrefix and those of the response, and request or ' +
  'response as a whole, cannot be read'

export const logExpression = (result: 'any' | 'bool') =>
  expression(LOG_ROOTS, result).superRefine((source, context) => {
    const compiled = compileCel(source, { roots: LOG_ROOTS, result })
    if (!compiled.ok || !compiled.program.needs.anyBody) return
    context.addIssue({ code: 'custom', message: NO_BODY })
  }, enforcedAs(ONLY_GATEWAY))

export const attributeName = () =>
  shortString().regex(/^[!#-<>-[\]-~]+$/, 'must be printable ASCII without spaces, quotes, "=" and backslashes')

type Name = () => z.ZodString

export interface AttributeSource {
  readonly name: string
  readonly expression: string
}

/**
 * A map from names to expressions. No bound is given for what is added; 64 is that of maps
 * (docs/specification.md#leaf-types).
 */
export const addedMap = (
  name: Name = attributeName,
  of: () => z.ZodType<string> = () => logExpression('any'),
  min = 1
) => {
  const known = name()
  return z
    .record(z.string(), of())
    .superRefine((map, context) => {
      const names = Object.keys(map)
      if (names.length < min || names.length > ENTRIES_MAX) {
        context.addIssue({ code: 'custom', message: `must have ${min} to ${ENTRIES_MAX} entries` })
      }
      for (const key of names) {
        const problem = known.safeParse(key).error?.issues[0]
        if (problem !== undefined) context.addIssue({ code: 'custom', path: [key], message: problem.message })
      }
    })
    .transform((map): readonly AttributeSource[] =>
      Object.entries(map).map(([key, source]) => ({ name: key, expression: source }))
    )
    .meta({ minProperties: min, maxProperties: ENTRIES_MAX })
}

/** The same as the resource has it: a list of { name, expression }. */
export const addedList = (name: Name = attributeName, of: () => z.ZodType<string> = () => logExpression('any')) =>
  list(z.strictObject({ name: name(), expression: of() }), 1, ENTRIES_MAX).superRefine(
    (added, context) => {
      const seen = new Set<string>()
      added.forEach((entry, i) => {
        if (!seen.has(entry.name)) {
          seen.add(entry.name)
          return
        }
        context.addIssue({ code: 'custom', path: [i, 'name'], message: `there is already a field "${entry.name}"` })
      })
    },
    enforcedAs(uniqueBy('name'))
  )

const NO_ATTRIBUTES = unfit('must be an object of names with expressions')

/** A map from names to expressions, or a list of { name, expression }: its shape says which. */
export function addedEither(of?: () => z.ZodType<string>, name?: Name) {
  const [listed, mapped] = [addedList(name, of), addedMap(name, of)]
  const either = byShape([listed, mapped], (input) => {
    if (Array.isArray(input)) return listed
    return isObject(input) ? mapped : NO_ATTRIBUTES
  })
  return inResources(either, listed)
}

const NO_MAP = unfit('must be a list of { name, expression }; a map of names with expressions stands in place of add')
const NO_LIST = unfit('must be an object: put the list under add, as { add: [{ name: ..., expression: ... }] }')

/** `attributes`: a map from names to expressions, or add and remove as the resource has them. */
export function attributesSchema() {
  const listed = addedList()
  const add = inResources(
    byShape([listed], (input) => (isObject(input) ? NO_MAP : listed)),
    listed
  )
  const [form, mapped] = [atLeastOne({ add: add.optional(), remove: removed().optional() }), addedMap()]
  const either = byShape([form, mapped], (input) => {
    if (Array.isArray(input)) return NO_LIST
    if (!isObject(input)) return NO_ATTRIBUTES
    // A text under add is the expression of an attribute of that name.
    return 'remove' in input || ('add' in input && typeof input.add !== 'string') ? form : mapped
  }).transform((input): { readonly add: readonly AttributeSource[]; readonly remove: readonly string[] } =>
    'slice' in input ? { add: input, remove: [] } : { add: input.add ?? [], remove: input.remove ?? [] }
  )
  return inResources(either, form)
}

const isObject = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

export const removed = () => list(tinyString(), 1, REMOVED_MAX)

/** Made of a request's body, which is kept for them until the exchange is over. */
const REQUEST_VARIABLES = ['llmRequest', 'llm.prompt', 'llm.params']

/** What expressions need that is kept for them alone (AccessLogPlan, TracingPlan). */
export function readsOf(programs: readonly Expression[]) {
  return {
    readsAnswers: programs.some(({ needs }) => needs.reads('llm.completion') || needs.reads('llm.toolCalls')),
    readsRequests: programs.some(({ needs }) => REQUEST_VARIABLES.some((name) => needs.reads(name))),
    readsTimes: programs.some(({ needs }) => needs.times),
    readsRouting: programs.some(({ needs }) => needs.routing)
  }
}
