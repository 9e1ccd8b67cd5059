/** How the fields of an object are patched: what its OpenAPI says beside each (x-kubernetes-patch-*). */

/** Of a field that merges in a way of its own, or that leads to one that does. */
export interface FieldSchema {
  /** Of the objects in it: in a list its items, in a map its values. */
  readonly of?: string
  /** The field of an item by which it is known. */
  readonly mergeKey?: string
  /** A map or a list with neither: maps are merged, lists are replaced. */
  readonly strategy?: 'merge' | 'replace'
}

/** By names of definitions, their fields by name; "*" stands for any key of a map. */
export type PatchDefinitions = Readonly<Record<string, Readonly<Record<string, FieldSchema>>>>

const NOTHING: FieldSchema = {}

/** An object of a definition; or of none, whose fields all merge in the default way. */
export class PatchSchema {
  readonly #definitions: PatchDefinitions
  readonly #fields: Readonly<Record<string, FieldSchema>> | undefined

  constructor(definitions: PatchDefinitions, name: string | undefined) {
    this.#definitions = definitions
    this.#fields = name === undefined || !Object.hasOwn(definitions, name) ? undefined : definitions[name]
  }

  field(key: string): FieldSchema {
    if (this.#fields === undefined) return NOTHING
    return (Object.hasOwn(this.#fields, key) ? this.#fields[key] : this.#fields['*']) ?? NOTHING
  }

  /** Of what a field holds. */
  under({ of }: FieldSchema): PatchSchema {
    return new PatchSchema(this.#definitions, of)
  }
}
