/** Objects that need exactly one, or at least one, of their keys: how the file spells a choice. */
import { z } from '#engine/schema/schema.ts'

type Shape = Record<string, z.ZodOptional>

/** A strict object that must have exactly one of its keys. */
export function oneOf<S extends Shape>(shape: S) {
  const names = Object.keys(shape)
  return z
    .strictObject(shape)
    .refine((value) => given(value).length === 1, {
      error: (issue) => {
        const also = given(issue.input as object).join(' and ')
        return `must have exactly one of ${names.join(', ')}${also === '' ? '' : `, not ${also}`}`
      }
    })
    .meta({ oneOf: names.map((name) => ({ required: [name] })) })
}

/** A strict object that must have at least one of its keys. */
export function atLeastOne<S extends Shape>(shape: S) {
  return z
    .strictObject(shape)
    .refine((value) => given(value).length > 0, { error: `must have at least one of ${Object.keys(shape).join(', ')}` })
    .meta({ minProperties: 1 })
}

function given(value: object): string[] {
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([name]) => name)
}
