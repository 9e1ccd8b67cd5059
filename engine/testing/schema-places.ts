/** Every place of a JSON Schema, with what makes a file in which a value stands there and nothing else does. */

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

export interface Place {
  readonly put: (value: unknown) => unknown
  /** Some form of what belongs there is a text. */
  takesText: boolean
}

const DEPTH_MAX = 16

/** By paths such as binds.[].listeners.[].name; the entries of a map are "*". */
export function placesOf(whole: JsonSchema): Map<string, Place> {
  const found = new Map<string, Place>()
  const entered = new Set<string>()
  const walk = (schema: JsonSchema, path: readonly string[], put: Place['put']): void => {
    if (path.length > DEPTH_MAX) return
    const place = found.get(path.join('.')) ?? { put, takesText: false }
    place.takesText ||= schema.type === 'string'
    found.set(path.join('.'), place)
    if (schema.$ref !== undefined) {
      // One place of each definition is enough for what is in it.
      const isNew = !entered.has(schema.$ref)
      entered.add(schema.$ref)
      const target = whole.$defs?.[schema.$ref.split('/').at(-1)!]
      if (isNew && target !== undefined) walk(target, path, put)
      return
    }
    for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      walk(inner, path, put)
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      walk(inner, [...path, key], (value) => put({ [key]: value }))
    }
    const { additionalProperties: more } = schema
    if (typeof more === 'object') walk(more, [...path, '*'], (value) => put({ any: value }))
    if (schema.items !== undefined) walk(schema.items, [...path, '[]'], (value) => put([value]))
  }
  walk(whole, [], (value) => value)
  return found
}
