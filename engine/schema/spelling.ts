/**
 * What resources of Kubernetes spell otherwise than files. Schemas are written for files; engine/kubernetes/resources
 * makes those of resources from them. A mark is kept by what is made of its schema (describe, meta), so it stands on a
 * schema of its own, never on one that is shared.
 */
import { type says, z } from './schema.ts'

/** What resources have their own schemas for (engine/kubernetes/resources/words.ts). */
export type ResourceWord =
  | 'BackendObjectReference'
  | 'LocalObjectReference'
  | 'AuthoritiesReference'
  | 'SecretSelector'
  | 'McpSelector'
  | 'McpAuthentication'
  | 'HttpHeaderMatch'
  | 'Json'

export type Spelling =
  | { readonly kind: 'absent' }
  | { readonly kind: 'word'; readonly word: ResourceWord }
  /** `under`: the field of a file's form that has it. */
  | { readonly kind: 'schema'; readonly schema: z.ZodType; readonly under?: string | undefined }

const spellings = new WeakMap<z.core.$ZodType, Spelling>()

/** A field that files have, and resources do not: a path, a key in place, another gateway's name. */
export function onlyInFiles<T extends z.ZodType>(schema: T): T {
  spellings.set(schema, { kind: 'absent' })
  return schema
}

/** All fields of `shape`. */
export function allOnlyInFiles<S extends Readonly<Record<string, z.ZodOptional>>>(shape: S): S {
  const marked = Object.entries(shape).map(([key, schema]) => [key, onlyInFiles(schema.clone())])
  return Object.fromEntries(marked) as S
}

/** Resources have one of the forms that files have, what files have `under` a field of it, or a word of their own. */
export function inResources<T extends z.ZodType>(schema: T, spelling: ResourceWord | z.ZodType, under?: string): T {
  spellings.set(
    schema,
    typeof spelling === 'string' ? { kind: 'word', word: spelling } : { kind: 'schema', schema: spelling, under }
  )
  return schema
}

/** Any JSON value. */
export const anyJson = (error?: ReturnType<typeof says>) =>
  inResources(z.json(error === undefined ? {} : { error }), 'Json')

const descriptions = new WeakMap<z.core.$ZodType, string>()

/** What a file calls another name of a field is the only one in resources. */
export function describedInResources<T extends z.ZodType>(schema: T, description: string): T {
  descriptions.set(schema, description)
  return schema
}

export const descriptionInResources = (schema: z.core.$ZodType): string | null => known(descriptions, schema)

export function spellingOf(schema: z.core.$ZodType): Spelling | null {
  return known(spellings, schema)
}

function known<T>(marks: WeakMap<z.core.$ZodType, T>, schema: z.core.$ZodType): T | null {
  // What describe and meta give has the schema that they were called on as its parent.
  for (let at: z.core.$ZodType | undefined = schema; at !== undefined; at = at._zod.parent) {
    const mark = marks.get(at)
    if (mark !== undefined) return mark
  }
  return null
}

/** API servers fill in `value`, which is what the gateway takes for a field that is left out. */
export function filledIn<T extends z.ZodType>(schema: T, value: z.input<T>): T {
  return inResources(schema.clone(), schema.clone().default(value as never))
}

/**
 * Words that resources begin with a capital letter, and files also with a small one. `usual`: what API servers fill in.
 */
export function words<const W extends string>(all: readonly W[], usual?: NoInfer<W>) {
  const small = all.map((word) => `${word.charAt(0).toLowerCase()}${word.slice(1)}` as Uncapitalize<W>)
  const capitals = z.enum(all)
  return inResources(z.enum([...all, ...small]), usual === undefined ? capitals : capitals.default(usual as never))
}
