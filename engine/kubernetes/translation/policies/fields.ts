/** What a resource says field by field, in the spelling of files: what merges, and where each came from. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Part, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import type { Path, Raw } from '#engine/schema/placed.ts'

export interface Field {
  readonly value: unknown
  /** Of the object that says it, and its path there. */
  readonly key: ObjectKey
  readonly from: Path
  /** Of what stands elsewhere than in the object: paths from the value on. */
  readonly origins: readonly PartOrigin[]
}

/** By name, as `policies` of a file have them. */
export type Fields = ReadonlyMap<string, Field>

export const NO_FIELDS: Fields = new Map()

/** `moves`: of all that was converted with it, with whole paths. */
export function fieldsOf(
  value: Raw,
  from: Path,
  key: ObjectKey,
  moves: readonly (readonly [at: Path, from: Path])[]
): Fields {
  const fields = Object.entries(value).map(([name, inner]): [string, Field] => {
    const path = [...from, name]
    const origins = moves
      .filter(([at]) => path.every((step, i) => at[i] === step))
      .map(([at, place]): PartOrigin => [at.slice(path.length), { key, path: place }])
    return [name, { value: inner, key, from: path, origins }]
  })
  return new Map(fields)
}

/** The fields as one object. */
export function partOf(fields: Fields): Part {
  const value = Object.fromEntries([...fields].map(([name, field]) => [name, field.value]))
  return { value, origins: [...fields].flatMap(([name, field]) => originsOf(field, [name])) }
}

/** `at`: where the value of the field stands. */
export function originsOf({ key, from, origins }: Field, at: Path): PartOrigin[] {
  return [[at, { key, path: from }], ...origins.map(([inside, place]): PartOrigin => [[...at, ...inside], place])]
}
