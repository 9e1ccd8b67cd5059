/** Objects that need exactly one, or at least one, of some keys: how the spec spells a choice. */
import { isRefused, z } from './schema.ts'

type Optional = Record<string, z.ZodOptional>
type Shape = Record<string, z.ZodType>

/** A strict object that must have exactly one of the keys of `choices`, and may have those of `others`. */
export function oneOf<C extends Optional, O extends Shape = Record<never, never>>(choices: C, others?: O) {
  const names = namesOf(choices)
  return z
    .strictObject({ ...choices, ...(others as O) })
    .refine((value) => count(value, names) === 1, {
      when: isSound,
      error: (issue) => {
        const given = names.filter((name) => (issue.input as Shape)[name] !== undefined)
        const also = given.length === 0 ? '' : `, not ${given.join(' and ')}`
        return `must have exactly one of ${names.join(', ')}${also}`
      }
    })
    .meta({ oneOf: names.map((name) => ({ required: [name] })) })
}

/** A strict object that must have at least one key of `shape`. */
export function atLeastOne<S extends Optional>(shape: S) {
  const names = namesOf(shape)
  return z
    .strictObject(shape)
    .refine((value) => count(value, names) > 0, {
      when: isSound,
      error: `must have at least one of ${names.join(', ')}`
    })
    .meta({ minProperties: 1 })
}

/** A key that is misspelt is one mistake: that a choice is missing because of it is no second one. */
function isSound(payload: { readonly issues: readonly unknown[] }): boolean {
  return payload.issues.length === 0
}

/** Refused keys are no choice: they exist to be refused by name. */
function namesOf(shape: Optional): string[] {
  return Object.keys(shape).filter((name) => !isRefused(shape[name]!))
}

function count(value: object, names: readonly string[]): number {
  return names.filter((name) => (value as Record<string, unknown>)[name] !== undefined).length
}
