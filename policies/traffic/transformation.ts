/**
 * spec.traffic.transformation: headers and bodies computed by CEL. In the order metadata, set, add, remove, body.
 * An expression that fails changes nothing and is counted (weir_expression_failures_total).
 */

import { METADATA, REQUEST_ROOTS, RESPONSE_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { toJson, type Value } from '#engine/cel/index.ts'
import { bodiesOf, type Evaluation, evaluation, type RunJob } from '#engine/cel/offload.ts'
import { replaceRequestBody, replaceResponseBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { HEADER_NAME } from '#engine/schema/http.ts'
import { cel, enforcedAs, keywords, ONLY_FILES } from '#engine/schema/rule.ts'
import { deferred, list, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { FIELDS_MAX, headerName } from '#policies/shared/field.ts'
import { type Pseudo, REQUEST_PSEUDO, RESPONSE_PSEUDO } from '#policies/shared/pseudo.ts'
import { textOf, withoutBlanks } from '#policies/shared/text.ts'

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
  z.string().superRefine(
    (name, context) => {
      if (name.startsWith(':')) {
        const known = [...PSEUDO[side].keys()]
        if (known.includes(name)) return
        context.addIssue({ code: 'custom', message: `of the pseudo headers, only ${known.join(', ')} can be set here` })
        return
      }
      for (const { message } of NAME.safeParse(name).error?.issues ?? []) {
        context.addIssue({ code: 'custom', message })
      }
    },
    enforcedAs(keywords({ minLength: 1, maxLength: 256, pattern: HEADER_NAME.source }))
  )

/** A list of {name, value} as in the resource, or a map from name to expression. */
const fields = (side: Side, name: z.ZodType<string>) => {
  const listed = list(z.strictObject({ name, value: expression(ROOTS[side]) }), 1, FIELDS_MAX)
  const either = z
    .union([
      listed,
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
  return inResources(either, listed)
}

const removals = (side: Side) =>
  list(
    headerName().refine((name) => side === 'response' || name.toLowerCase() !== 'host', {
      message: 'host cannot be removed: every request needs one',
      params: side === 'response' ? ONLY_FILES : cel("self.lowerAscii() != 'host'")
    }),
    1,
    FIELDS_MAX
  )

/** Names of values that later expressions read as metadata.NAME. */
const NOTE = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, 'must be a letter and up to 63 letters, digits, "_", "." and "-"')

const transformOf = (side: Side) =>
  atLeastOne({
    metadata: fields(side, NOTE).optional(),
    set: fields(side, target(side)).optional(),
    add: fields(side, NAME).optional(),
    remove: removals(side).optional(),
    body: expression(ROOTS[side]).optional()
  })

const schema = deferred(() =>
  atLeastOne({ request: transformOf('request').optional(), response: transformOf('response').optional() })
)

type Transform = z.output<ReturnType<typeof transformOf>>

// --- build time ---

interface Step {
  readonly name: string
  /** Its one name in lower case. */
  readonly names: readonly string[]
  /** Fields of that name make way for it. */
  readonly replaces: boolean
  readonly value: Evaluation
  /** Sets a pseudo header; false when the value cannot be one. */
  readonly pseudo: Pseudo | null
}

interface Note {
  readonly name: string
  readonly value: Evaluation
}

interface Steps {
  readonly notes: readonly Note[]
  readonly fields: readonly Step[]
  readonly remove: readonly string[]
  readonly body: Evaluation | null
  /** Writes the body of this side. */
  readonly replaceBody: (ex: Exchange, bytes: Buffer) => void
  readonly failed: () => void
}

function compile({ request, response }: z.output<typeof schema>, context: CompileContext): Compiled {
  const before = request === undefined ? null : stepsOf('request', request, context)
  const after = response === undefined ? null : stepsOf('response', response, context)
  // A body that is replaced has to be out of the way first, whether or not the expression reads it.
  const programs = valuesOf(before, after).map(({ program }) => program)
  const reads = bodiesOf(programs)
  const buffers = {
    request: before?.body != null || (reads.request ?? false),
    response: after?.body != null || (reads.response ?? false)
  }
  const onRequest = before === null ? {} : { onRequest: hookOf(before, (ex) => ex.request) }
  const onResponse = after === null ? {} : { onResponse: hookOf(after, (ex) => ex.response) }
  return {
    filter: { ...onRequest, ...onResponse, buffers },
    readsTimes: programs.some(({ needs }) => needs.times),
    readsRouting: programs.some(({ needs }) => needs.routing)
  }
}

function stepsOf(side: Side, input: Transform, context: CompileContext): Steps {
  const { metadata = [], set = [], add = [], remove = [], body } = input
  const { failed, offload } = context
  const run: RunJob = (name, job, client) => offload.run(name, job, client)
  const evaluated = (source: string) => evaluation(source, side, 'any', run)
  const stepOf = ({ name, value }: Field, replaces: boolean): Step => {
    const lower = name.toLowerCase()
    // Host is written by the engine, once: it is the authority by another name.
    const pseudo = PSEUDO[side].get(lower === 'host' && side === 'request' ? ':authority' : name) ?? null
    return { name, names: [lower], replaces, value: evaluated(value), pseudo }
  }
  return {
    notes: metadata.map(({ name, value }) => ({ name, value: evaluated(value) })),
    fields: [...set.map((field) => stepOf(field, true)), ...add.map((field) => stepOf(field, false))],
    remove: remove.map((name) => name.toLowerCase()),
    body: body === undefined ? null : evaluation(body, side, 'any', run, true),
    replaceBody: side === 'request' ? replaceRequestBody : replaceResponseBody,
    failed: () => failed('transformation')
  }
}

function valuesOf(...sides: readonly (Steps | null)[]): Evaluation[] {
  return sides.flatMap((steps) => {
    if (steps === null) return []
    const { notes, fields, body } = steps
    return [...notes, ...fields].map(({ value }) => value).concat(body ?? [])
  })
}

function hookOf(steps: Steps, blockOf: (ex: Exchange) => HeaderBlock | null): Hook {
  const waiting = valuesOf(steps).filter(({ mayWait }) => mayWait)
  const later = async (ex: Exchange, block: HeaderBlock): Promise<Verdict> => {
    await transformLater(ex, block, steps, blockOf)
    return CONTINUE
  }
  return (ex) => {
    const block = blockOf(ex)
    if (block === null) return CONTINUE
    for (let i = 0; i < waiting.length; i++) if (waiting[i]!.waits(ex)) return later(ex, block)
    transform(ex, block, steps)
    return CONTINUE
  }
}

// --- request time ---

/** Expressions see what those before them have written. None of them waits. */
function transform(ex: Exchange, block: HeaderBlock, steps: Steps): void {
  const { notes, fields, remove, body, replaceBody, failed } = steps
  for (let i = 0; i < notes.length; i++) if (!note(ex, notes[i]!.name, notes[i]!.value.run(ex) as Value)) failed()
  for (let i = 0; i < fields.length; i++) {
    const step = fields[i]!
    if (!writeField(ex, block, step, step.value.run(ex) as Value)) failed()
  }
  if (remove.length > 0) block.strip(remove)
  if (body !== null && !writeBody(ex, replaceBody, body.run(ex) as Value)) failed()
}

/** As transform, for expressions over bodies: one that is expensive for the body at hand runs in another thread. */
async function transformLater(
  ex: Exchange,
  block: HeaderBlock,
  { notes, fields, remove, body, replaceBody, failed }: Steps,
  blockOf: (ex: Exchange) => HeaderBlock | null
): Promise<void> {
  for (const { name, value } of notes) if (!note(ex, name, await value.run(ex))) failed()
  if (blockOf(ex) !== block) return
  for (const step of fields) {
    const value = await step.value.run(ex)
    // Answered meanwhile by something else: this message is not sent any more.
    if (blockOf(ex) !== block) return
    if (!writeField(ex, block, step, value)) failed()
  }
  if (remove.length > 0) block.strip(remove)
  if (body === null) return
  const value = await body.run(ex)
  if (blockOf(ex) === block && !writeBody(ex, replaceBody, value)) failed()
}

/** Plain data: an expression's maps may be views of what is changed afterwards. False: it has no JSON. */
function note(ex: Exchange, name: string, value: Value): boolean {
  const isScalar =
    value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  const json = isScalar ? null : toJson(value)
  if (json !== null && typeof json !== 'string') return false
  let metadata = METADATA.get(ex)
  if (metadata === null) {
    metadata = {}
    METADATA.set(ex, metadata)
  }
  metadata[name] = json === null ? value : JSON.parse(json)
  return true
}

/** False: the value is none that a field can carry. */
function writeField(ex: Exchange, block: HeaderBlock, step: Step, result: Value): boolean {
  const value = fieldText(result)
  if (value === null) return false
  if (step.pseudo !== null) return step.pseudo(ex, value)
  if (step.replaces) block.strip(step.names)
  block.append(step.name, value)
  return true
}

/** The value as a field can carry it, or null. */
function fieldText(value: Value): string | null {
  const text = textOf(value)
  return text !== null && isFieldValue(text) ? withoutBlanks(text) : null
}

/** Tab, space to "~" and Latin-1: anything else would end the line, or be cut to an octet that does. */
function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if ((c < 32 && c !== 9) || c === 127 || c > 255) return false
  }
  return true
}

/** False: the value is none that a body can be. */
function writeBody(ex: Exchange, replace: Steps['replaceBody'], value: Value): boolean {
  if (value instanceof Uint8Array) {
    // They are not written again: bodies need no copy.
    replace(ex, bufferOf(value))
    return true
  }
  const text = textOf(value)
  if (text === null) return false
  replace(ex, Buffer.from(text))
  return true
}

function expressions({ request, response }: z.output<typeof schema>): string[] {
  return [request, response].flatMap((side) => {
    const { metadata = [], set = [], add = [], body } = side ?? {}
    return [...metadata, ...set, ...add].map(({ value }) => value).concat(body ?? [])
  })
}

export const transformation: Policy = {
  name: 'transformation',
  section: 'traffic',
  schema,
  aliases: [{ name: 'transformations' }],
  expressions,
  compile
}
