/** Objects that need exactly one, or at least one, of some keys: how the specification spells a choice. */
import { realName } from './names.ts'
import { choice } from './rule.ts'
import { HIDDEN, isRefused, says, z } from './schema.ts'
import { spellingOf } from './spelling.ts'
import { together } from './together.ts'

type Optional = Record<string, z.ZodOptional>
type Shape = Record<string, z.ZodType>

/** A strict object that must have exactly one of the keys of `choices`, and may have those of `others`. */
export function oneOf<C extends Optional, O extends Shape = Record<never, never>>(choices: C, others?: O) {
  const names = namesOf(choices)
  return z
    .strictObject(
      { ...choices, ...(others as O) },
      {
        // The name of a choice alone is a frequent mistake; other texts are not shown.
        error: ({ code, input }) =>
          code === 'invalid_type' && typeof input === 'string' && names.includes(input)
            ? `must be an object, such as { ${input}: ... }, not a text`
            : undefined
      }
    )
    .check(exactlyOne(names, namesInResources(choices)))
    .meta({ oneOf: names.map((name) => ({ required: [name] })) })
}

/** A strict object that must have at least one key of `shape`. */
export function atLeastOne<S extends Optional>(shape: S) {
  const names = namesOf(shape)
  return z
    .strictObject(shape)
    .check(someOf(names, namesInResources(shape)))
    .meta({ minProperties: 1 })
}

const presentOf = (names: readonly string[], value: unknown) =>
  names.filter((name) => (value as Readonly<Record<string, unknown>>)[name] !== undefined)

/** Neutral words are understood, and not proposed. */
const shown = (names: readonly string[]) => names.filter((name) => realName(name) === name).join(', ')

export const CHOICES = {
  'exactly one': (names: readonly string[], inResources = names) =>
    together(
      [],
      (payload) => {
        const present = presentOf(names, payload.value)
        const also = present.length === 0 ? '' : `, not ${present.join(' and ')}`
        const message = `must have exactly one of ${shown(names)}${also}`
        if (present.length !== 1) report(payload, message, present.length === 0)
      },
      choice('exactly one', inResources)
    ),
  'at least one': (names: readonly string[], inResources = names) =>
    together(
      [],
      (payload) => {
        const hasOne = presentOf(names, payload.value).length > 0
        if (!hasOne) report(payload, `must have at least one of ${shown(names)}`, true)
      },
      choice('at least one', inResources)
    ),
  'at most one': (names: readonly string[], inResources = names) =>
    together(
      [],
      (payload) => {
        if (presentOf(names, payload.value).length > 1)
          report(payload, `must have at most one of ${shown(names)}`, false)
      },
      choice('at most one', inResources)
    )
} as const

/** Checks of an object: how many of the fields `names` it has. `inResources`: names of the same choice there. */
export const exactlyOne = CHOICES['exactly one']
export const someOf = CHOICES['at least one']
export const atMostOne = CHOICES['at most one']

/**
 * One of `schemas`, as `meant` says by the shape of an input. A mistake is told in the words of that one; a union only
 * knows that none of them fits. `meant` may also give a schema that refuses. Clones (meta, describe) are plain unions.
 */
export function byShape<const S extends readonly z.ZodType[]>(schemas: S, meant: (input: unknown) => z.ZodType) {
  const union = z.union(schemas)
  const run: typeof union._zod.run = (payload, context) => {
    // Each schema gives what the union says that it gives.
    return meant(payload.value)._zod.run(payload, context) as ReturnType<typeof union._zod.run>
  }
  union._zod.parse = run
  union._zod.run = run
  return union
}

/** A schema that refuses every value: what is meant is none of those that are known. */
export const unfit = (message: string) => z.never({ error: says(message) })

/**
 * A key that is misspelt is one mistake: that a choice is missing because of it is no second one. It is an
 * issue all the same, because zod hands objects whose only fault is an unknown key to their transform.
 */
function report(payload: z.core.ParsePayload, message: string, isMissing: boolean): void {
  const params = isMissing && payload.issues.some(isAboutKey) ? HIDDEN : {}
  payload.issues.push({ code: 'custom', message, params, input: payload.value })
}

/** Of a key that is not known, or refused by name. */
function isAboutKey({ code, path = [], ...issue }: z.core.$ZodRawIssue): boolean {
  if (code === 'unrecognized_keys') return path.length === 0
  return path.length === 1 && code === 'invalid_type' && 'expected' in issue && issue.expected === 'never'
}

/** Refused keys are no choice: they exist to be refused by name. */
function namesOf(shape: Optional): string[] {
  return Object.keys(shape).filter((name) => !isRefused(shape[name]!))
}

/** Resources may have what files refuse. */
function namesInResources(shape: Optional): string[] {
  return Object.keys(shape).filter((name) => !isRefused(shape[name]!) || spellingOf(shape[name]!) !== null)
}
