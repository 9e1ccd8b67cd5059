/** Strategic merge patches at random, with all their directives, from one object towards another. */
import { xorshift32 } from '#engine/kit/random.ts'
import type { PatchSchema } from '#engine/kubernetes/provisioning/strategic-merge/patch-schema.ts'
import type { Raw } from '#engine/schema/placed.ts'

const isMap = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)

/** One field in `n` of those that differ is left as it is. */
const LEFT = 3
/** One map or list in `n` has a directive for all of it. */
const WHOLE = 12

export class RandomPatch {
  readonly #random: () => number

  constructor(seed: number) {
    // Small seeds begin with small numbers.
    this.#random = xorshift32(Math.imul(seed, 0x9e37_79b1))
  }

  of(from: Raw, to: Raw, schema: PatchSchema): Raw {
    const patch: Raw = {}
    const kept: string[] = []
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      if (this.#once(LEFT)) {
        kept.push(key)
        continue
      }
      if (Object.hasOwn(to, key)) kept.push(key)
      this.#field(patch, key, from[key], to[key], schema)
    }
    if (this.#once(WHOLE)) patch.$retainKeys = this.#shuffled(kept)
    return patch
  }

  #field(patch: Raw, key: string, from: unknown, to: unknown, schema: PatchSchema): void {
    const field = schema.field(key)
    if (to === undefined) patch[key] = null
    else if (isMap(from) && isMap(to)) patch[key] = this.#map(from, to, schema.under(field))
    else if (!Array.isArray(from) || !Array.isArray(to) || field.strategy !== 'merge') patch[key] = to
    else if (field.mergeKey === undefined) this.#scalars(patch, key, from, to)
    else this.#items(patch, key, from as Raw[], to as Raw[], field.mergeKey, schema.under(field))
  }

  #map(from: Raw, to: Raw, schema: PatchSchema): Raw {
    if (this.#once(WHOLE)) return { $patch: 'replace', ...to }
    if (this.#once(2 * WHOLE)) return { $patch: 'delete' }
    return this.of(from, to, schema)
  }

  #scalars(patch: Raw, key: string, from: readonly unknown[], to: readonly unknown[]): void {
    const gone = from.filter((item) => !to.includes(item))
    if (gone.length > 0) patch[`$deleteFromPrimitiveList/${key}`] = gone
    const added = to.filter((item) => !from.includes(item) || this.#once(LEFT))
    if (added.length > 0) patch[key] = added
    if (this.#once(2)) patch[`$setElementOrder/${key}`] = this.#once(4) ? this.#shuffled(to) : to
  }

  #items(
    patch: Raw,
    key: string,
    from: readonly Raw[],
    to: readonly Raw[],
    mergeKey: string,
    schema: PatchSchema
  ): void {
    const items: Raw[] = []
    for (const item of to) {
      const same = from.find((one) => one[mergeKey] === item[mergeKey])
      if (same === undefined) items.push(item)
      else if (!this.#once(LEFT)) items.push({ ...this.of(same, item, schema), [mergeKey]: item[mergeKey] })
    }
    for (const { [mergeKey]: value } of from) {
      const isGone = !to.some((one) => one[mergeKey] === value)
      if (isGone && !this.#once(LEFT)) items.push({ $patch: 'delete', [mergeKey]: value })
    }
    if (this.#once(WHOLE)) items.push({ $patch: 'replace' })
    patch[key] = this.#once(4) ? this.#shuffled(items) : items
    const order = to.map(({ [mergeKey]: value }) => ({ [mergeKey]: value }))
    if (this.#once(2)) patch[`$setElementOrder/${key}`] = this.#once(4) ? this.#shuffled(order) : order
  }

  /** True once in `times`. */
  #once(times: number): boolean {
    return this.#random() * times < 1
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, at: this.#random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item)
  }
}
