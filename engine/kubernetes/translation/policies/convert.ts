/**
 * A value of a resource -> the same in a file's spelling. It walks the schema of the file: what resources spell
 * otherwise has a mark there (engine/schema/spelling.ts), and no policy is known by name. Values must have passed the
 * schema of the resource.
 */
import type { ResourceSchemas } from '#engine/kubernetes/resources/resource-schema.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import { type ResourceWord, spellingOf } from '#engine/schema/spelling.ts'

type Schema = z.core.$ZodType

/** The field is left out, as what it says stands elsewhere; and so is what has no other field. */
export const ELSEWHERE = Symbol('elsewhere')

/** Several objects in place of the one that has the field. Each has `fields` in its place. */
export class InPlaceOf {
  readonly fields: readonly Raw[]

  constructor(fields: readonly Raw[]) {
    this.fields = fields
  }
}

/** Several entries in place of one. */
class Several {
  readonly values: readonly Raw[]

  constructor(values: readonly Raw[]) {
    this.values = values
  }
}

export interface WordPlace {
  /** In the value that is converted. */
  readonly path: Path
  /** The object that has the field. */
  readonly around: Raw
}

/** What a word becomes. */
export type WordConversion = (value: Raw, place: WordPlace) => unknown

export interface ConverterOptions {
  readonly resources: ResourceSchemas
  readonly words: Readonly<Record<ResourceWord, WordConversion>>
  /** `at` in what is made stands for `from` in what was given: told where the two differ. */
  readonly moved: (at: Path, from: Path) => void
}

export class Converter {
  readonly #options: ConverterOptions

  constructor(options: ConverterOptions) {
    this.#options = options
  }

  /** `path`: of the value in its resource, and in what is made. */
  convert(schema: Schema, value: unknown, path: Path = [], at: Path = path): unknown {
    return this.#convert(schema, value, { path, around: {} }, at)
  }

  #convert(schema: Schema, value: unknown, place: WordPlace, at: Path): unknown {
    if (!isSpelledOtherwise(schema)) return value
    const spelling = spellingOf(schema)
    if (spelling?.kind === 'word') return this.#options.words[spelling.word](objectOf(value), place)
    if (spelling?.kind === 'schema') {
      const { schema: own, under } = spelling
      if (under === undefined) return this.#convert(own, value, place, at)
      const inside = [...at, under]
      this.#options.moved(inside, place.path)
      return { [under]: this.#convert(own, value, place, inside) }
    }
    return this.#inside(schema as z.core.$ZodTypes, value, place, at)
  }

  #inside(schema: z.core.$ZodTypes, value: unknown, place: WordPlace, at: Path): unknown {
    const { def } = schema._zod
    switch (def.type) {
      case 'lazy':
        return this.#convert(meant(schema), value, place, at)
      case 'optional':
      case 'nullable':
      case 'default':
        return this.#convert(def.innerType, value, place, at)
      case 'pipe':
        return this.#convert(def.in, value, place, at)
      case 'object':
        return this.#object(def.shape, objectOf(value), place.path, at)
      case 'array':
        return this.#array(def.element, value as readonly unknown[], place.path, at)
      case 'record':
        return this.#fields(objectOf(value), place.path, at, () => def.valueType)
      case 'union': {
        const form = def.options.find((option) => this.#fits(option, value))
        return form === undefined ? value : this.#convert(form, value, place, at)
      }
      default:
        return value
    }
  }

  #fits(option: Schema, value: unknown): boolean {
    return spellingOf(option)?.kind !== 'absent' && this.#options.resources.of(option).safeParse(value).success
  }

  #object(shape: Readonly<Record<string, Schema>>, value: Raw, path: Path, at: Path): unknown {
    const made = this.#fields(value, path, at, (key) => shape[key])
    const isLeft = Object.keys(made).length > 0 || Object.keys(value).length === 0
    if (!isLeft) return ELSEWHERE
    const several = Object.entries(made).find(([, inner]) => inner instanceof InPlaceOf)
    if (several === undefined) return made
    const { [several[0]]: _, ...rest } = made
    return new Several((several[1] as InPlaceOf).fields.map((fields) => ({ ...rest, ...fields })))
  }

  #fields(value: Raw, path: Path, at: Path, schemaOf: (key: string) => Schema | undefined): Raw {
    const fields = Object.entries(value).flatMap(([key, inner]) => {
      const schema = schemaOf(key)
      const place = { path: [...path, key], around: value }
      const made = schema === undefined ? inner : this.#convert(schema, inner, place, [...at, key])
      return made === ELSEWHERE ? [] : [[key, made] as const]
    })
    return Object.fromEntries(fields)
  }

  #array(element: Schema, value: readonly unknown[], path: Path, at: Path): unknown[] {
    const made: unknown[] = []
    let isMoved = false
    value.forEach((entry, i) => {
      const from = [...path, i]
      const one = this.#convert(element, entry, { path: from, around: {} }, [...at, made.length])
      const all = one instanceof Several ? one.values : [one]
      isMoved ||= one instanceof Several
      for (const each of all) {
        if (isMoved) this.#options.moved([...at, made.length], from)
        made.push(each)
      }
    })
    return made
  }
}

/** What a lazy schema stands for, which `getter` would make anew each time: 1 ms for each key of 1,000 providers. */
const meant = (schema: z.core.$ZodTypes): Schema => (schema as z.core.$ZodLazy)._zod.innerType

const known = new WeakMap<Schema, boolean>()

/** Whether something in it has a mark that changes values. What refers to itself has none but that of the loop. */
function isSpelledOtherwise(schema: Schema): boolean {
  const before = known.get(schema)
  if (before !== undefined) return before
  known.set(schema, false)
  const found = find(schema as z.core.$ZodTypes)
  known.set(schema, found)
  return found
}

function find(schema: z.core.$ZodTypes): boolean {
  const spelling = spellingOf(schema)
  if (spelling?.kind === 'word') return spelling.word !== 'Json'
  if (spelling?.kind === 'absent') return false
  if (spelling?.kind === 'schema') return spelling.under !== undefined || isSpelledOtherwise(spelling.schema)
  const { def } = schema._zod
  switch (def.type) {
    case 'lazy':
      return isSpelledOtherwise(meant(schema))
    case 'optional':
    case 'nullable':
    case 'default':
      return isSpelledOtherwise(def.innerType)
    case 'pipe':
      return isSpelledOtherwise(def.in)
    case 'object':
      return Object.values(def.shape).some(isSpelledOtherwise)
    case 'array':
      return isSpelledOtherwise(def.element)
    case 'record':
      return isSpelledOtherwise(def.valueType)
    case 'union':
      return def.options.some(isSpelledOtherwise)
    default:
      return false
  }
}
