/**
 * spec.traffic.transformation: headers and bodies computed by CEL. In the order set, add, remove, body.
 * An expression that fails changes nothing and is counted (weir_expression_failures_total).
 */
import { REQUEST_ROOTS, RESPONSE_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression, expression } from '#engine/cel/expression.ts'
import type { Value } from '#engine/cel/index.ts'
import { replaceRequestBody, replaceResponseBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Compiled, type Hook } from '#engine/contract/filter.ts'
import type { CompileContext, Policy } from '#engine/contract/policy.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { list, z } from '#engine/schema/schema.ts'
import { FIELDS_MAX, headerName } from '#policies/shared/field.ts'
import { type Pseudo, REQUEST_PSEUDO, RESPONSE_PSEUDO } from '#policies/shared/pseudo.ts'
import { textOf } from '#policies/shared/text.ts'

type Side = 'request' | 'response'
const ROOTS = { request: REQUEST_ROOTS, response: RESPONSE_ROOTS } as const
const PSEUDO = { request: REQUEST_PSEUDO, response: RESPONSE_PSEUDO } as const

interface Field {
  readonly name: string
  readonly value: string
}

/** Made once: a schema takes longer to make than a thousand names to check. */
const NAME = headerName()

/** A header name, or one of the side's pseudo headers where they can be set. */
const target = (side: Side) =>
  z.string().superRefine((name, context) => {
    if (name.startsWith(':')) {
      const known = [...PSEUDO[side].keys()]
      if (known.includes(name)) return
      context.addIssue({ code: 'custom', message: `of the pseudo headers, only ${known.join(', ')} can be set here` })
      return
    }
    for (const { message } of NAME.safeParse(name).error?.issues ?? []) {
      context.addIssue({ code: 'custom', message })
    }
  })

/** A list of {name, value} as in the resource, or a map from name to expression. */
const fields = (side: Side, name: z.ZodType<string>) =>
  z
    .union([
      list(z.strictObject({ name, value: expression(ROOTS[side]) }), 1, FIELDS_MAX),
      z
        .record(z.string(), expression(ROOTS[side]))
        .superRefine((map, context) => {
          const names = Object.keys(map)
          if (names.length < 1 || names.length > FIELDS_MAX) {
            context.addIssue({ code: 'custom', message: `must have 1 to ${FIELDS_MAX} entries` })
          }
          for (const key of names) {
            for (const { message } of name.safeParse(key).error?.issues ?? []) {
              context.addIssue({ code: 'custom', path: [key], message })
            }
          }
        })
        .meta({ minProperties: 1, maxProperties: FIELDS_MAX })
    ])
    .transform((config): readonly Field[] =>
      Array.isArray(config) ? config : Object.entries(config).map(([key, value]) => ({ name: key, value }))
    )

const removals = (side: Side) =>
  list(
    headerName().refine((name) => side === 'response' || name.toLowerCase() !== 'host', {
      message: 'host cannot be removed: every request needs one'
    }),
    1,
    FIELDS_MAX
  )

const transform = (side: Side) =>
  atLeastOne({
    set: fields(side, target(side)).optional(),
    add: fields(side, NAME).optional(),
    remove: removals(side).optional(),
    body: expression(ROOTS[side]).optional()
  })

const schema = atLeastOne({ request: transform('request').optional(), response: transform('response').optional() })

type Transform = z.output<ReturnType<typeof transform>>

// --- build time ---

interface Step {
  readonly name: string
  /** In lower case. */
  readonly lower: string
  readonly program: Expression
  /** Sets a pseudo header; false when the value cannot be one. */
  readonly pseudo: Pseudo | null
}

interface Steps {
  readonly set: readonly Step[]
  readonly add: readonly Step[]
  readonly remove: readonly string[]
  readonly body: Expression | null
}

function compile({ request, response }: z.output<typeof schema>, { failed }: CompileContext): Compiled {
  const onFailure = () => failed('transformation')
  const before = request === undefined ? null : stepsOf('request', request)
  const after = response === undefined ? null : stepsOf('response', response)
  const onRequest: Hook = (ex) => {
    transformHeaders(ex, ex.request, before!, onFailure)
    if (before!.body !== null) transformBody(ex, before!.body, replaceRequestBody, onFailure)
    return CONTINUE
  }
  const onResponse: Hook = (ex) => {
    if (ex.response === null) return CONTINUE
    transformHeaders(ex, ex.response, after!, onFailure)
    if (after!.body !== null) transformBody(ex, after!.body, replaceResponseBody, onFailure)
    return CONTINUE
  }
  // A body that is replaced has to be out of the way first, whether or not the expression reads it.
  const buffers = {
    request: before?.body != null || programsOf(before, after).some(({ needs }) => needs.requestBody),
    response: after?.body != null || programsOf(after).some(({ needs }) => needs.responseBody)
  }
  return {
    filter: { ...(before === null ? {} : { onRequest }), ...(after === null ? {} : { onResponse }), buffers }
  }
}

function stepsOf(side: Side, { set = [], add = [], remove = [], body }: Transform): Steps {
  const step = ({ name, value }: Field): Step => {
    const lower = name.toLowerCase()
    // Host is written by the engine, once: it is the authority by another name.
    const pseudo = PSEUDO[side].get(lower === 'host' && side === 'request' ? ':authority' : name) ?? null
    return { name, lower, program: compileExpression(value, ROOTS[side]), pseudo }
  }
  return {
    set: set.map(step),
    add: add.map(step),
    remove: remove.map((name) => name.toLowerCase()),
    body: body === undefined ? null : compileExpression(body, ROOTS[side])
  }
}

function programsOf(...sides: readonly (Steps | null)[]): Expression[] {
  return sides.flatMap((steps) => {
    if (steps === null) return []
    const { set, add, body } = steps
    return [...set.map((step) => step.program), ...add.map((step) => step.program), ...(body === null ? [] : [body])]
  })
}

// --- request time ---

/** Tab, space to "~" and Latin-1: anything else would end the line, or be cut to an octet that does. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/

function transformHeaders(ex: Exchange, block: HeaderBlock, { set, add, remove }: Steps, failed: () => void): void {
  for (let i = 0; i < set.length; i++) {
    const { lower, name, program, pseudo } = set[i]!
    const value = fieldText(program.run(ex))
    if (value === null || (pseudo !== null && !pseudo(ex, value))) failed()
    else if (pseudo === null) {
      block.remove(lower)
      block.append(name, value)
    }
  }
  for (let i = 0; i < add.length; i++) {
    const { name, program, pseudo } = add[i]!
    const value = fieldText(program.run(ex))
    if (value === null || (pseudo !== null && !pseudo(ex, value))) failed()
    else if (pseudo === null) block.append(name, value)
  }
  for (let i = 0; i < remove.length; i++) block.remove(remove[i]!)
}

/** The value as a field can carry it, or null. */
function fieldText(value: Value): string | null {
  const text = textOf(value)
  return text !== null && FIELD_VALUE.test(text) ? text.trim() : null
}

function transformBody(
  ex: Exchange,
  program: Expression,
  replace: (ex: Exchange, bytes: Buffer) => void,
  failed: () => void
): void {
  const value = program.run(ex)
  if (value instanceof Uint8Array) {
    replace(ex, Buffer.from(value))
    return
  }
  const text = textOf(value)
  if (text === null) failed()
  else replace(ex, Buffer.from(text))
}

export const transformation: Policy = {
  name: 'transformation',
  section: 'traffic',
  schema,
  aliases: [{ name: 'transformations' }],
  compile
}
