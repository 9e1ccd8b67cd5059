/** Where a key belongs that stands one level off: below the object that has it, or beside one of those around it. */
import type { Path } from '#engine/schema/placed.ts'
import { isRefused, type z } from '#engine/schema/schema.ts'

/** A list in a list is the most that a configuration has. */
const LISTS_MAX = 2

type Schema = z.core.$ZodType
type Shape = Readonly<Record<string, Schema>>

/** `listeners[].policies` is two steps, and so is `llm.models[].params`. */
const STEPS_MAX = 3
/** Objects that are looked at for one key: some of the schema is made only then. */
const OBJECTS_MAX = 400

/** "listeners[].policies", from the object on that has the key; null: nothing below it has such a key. */
export function belowOf(schema: Schema, key: string, steps = STEPS_MAX): string | null {
  let level: { readonly shape: Shape; readonly at: string }[] = shapesOf(schema, '')
  let looked = 0
  for (let step = 0; step < steps; step++) {
    const next: typeof level = []
    for (const { shape, at } of level) {
      for (const [name, field] of Object.entries(shape)) {
        if (isRefused(field) || ++looked > OBJECTS_MAX) continue
        for (const inner of shapesOf(field, at === '' ? name : `${at}.${name}`)) {
          if (has(inner.shape, key)) return inner.at
          next.push(inner)
        }
      }
    }
    level = next
  }
  return null
}

/** How many levels above the object at `path` another one has the key, and its path; null: none has. */
export function aboveOf(schema: Schema, path: Path, key: string): Path | null {
  for (let length = path.length - 1; length >= 0; length--) {
    const above = path.slice(0, length)
    // In a list nothing has a name.
    if (typeof path[length] === 'number') continue
    if (shapesAt(schema, above).some((shape) => has(shape, key))) return above
  }
  return null
}

const has = (shape: Shape, key: string): boolean => Object.hasOwn(shape, key) && !isRefused(shape[key]!)

function shapesAt(schema: Schema, path: Path): Shape[] {
  let schemas: Schema[] = [schema]
  for (const part of path) {
    schemas = schemas.flatMap((one) => unwrapped(one).flatMap((inner) => fieldOf(inner, part)))
  }
  return schemas.flatMap(unwrapped).flatMap((inner) => {
    const { def } = (inner as z.core.$ZodTypes)._zod
    return def.type === 'object' ? [def.shape as Shape] : []
  })
}

function fieldOf(schema: Schema, part: Path[number]): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'object' && typeof part === 'string' && Object.hasOwn(def.shape, part)) {
    return [(def.shape as Shape)[part]!]
  }
  if (def.type === 'array' && typeof part === 'number') return [def.element]
  return def.type === 'record' ? [def.valueType] : []
}

/** Objects that `schema` may be, or the entries of a list, with how they are reached. */
function shapesOf(schema: Schema, at: string, lists = 0): { readonly shape: Shape; readonly at: string }[] {
  return unwrapped(schema).flatMap((inner) => {
    const { def } = (inner as z.core.$ZodTypes)._zod
    if (def.type === 'object') return [{ shape: def.shape as Shape, at }]
    // Any JSON is a list of lists without end.
    return def.type === 'array' && lists < LISTS_MAX ? shapesOf(def.element, `${at}[]`, lists + 1) : []
  })
}

/** What a value has to be, without what may stand around it. */
function unwrapped(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return unwrapped(def.innerType)
    case 'lazy':
      return unwrapped(def.getter())
    case 'pipe':
      return unwrapped(def.in)
    case 'union':
      return def.options.flatMap(unwrapped)
    default:
      return [schema]
  }
}
