/** Objects that need exactly one, or at least one, of their fields: how the file spells a choice. */
import { z } from '#engine/schema/schema.ts'

/** A strict object over `shape` (all fields optional) that must have exactly one of them. */
export function exactlyOne<T extends Record<string, z.ZodOptional>>(shape: T) {
  const names = Object.keys(shape).join(', ')
  return z
    .strictObject(shape)
    .refine((value) => Object.values(value).filter((field) => field !== undefined).length === 1, {
      message: `exactly one of ${names} is required`
    })
    .meta({ minProperties: 1, maxProperties: 1 })
}

/** The same for objects that need any of their fields. */
export function atLeastOne<T extends Record<string, z.ZodOptional>>(shape: T) {
  const names = Object.keys(shape).join(', ')
  return z
    .strictObject(shape)
    .refine((value) => Object.values(value).some((field) => field !== undefined), {
      message: `at least one of ${names} is required`
    })
    .meta({ minProperties: 1 })
}
