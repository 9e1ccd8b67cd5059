/** A schema that remembers what it has found good: most of a configuration is the same after a reload. */
import { Lru } from '#engine/kit/lru.ts'
import type { ZodType } from './schema.ts'

/** Twice 4,000 routes, each with 1 KB of source and its outcome: 20 MB on the main thread. */
export const GOOD_MAX = 8_192
/** Of JSON, in all: a tenant's route may have a megabyte, and be another one with each change. */
const GOOD_CHARS_MAX = 16 * 2 ** 20

interface Good {
  readonly key: string
  readonly outcome: unknown
}

/**
 * Changes `schema` and returns it: an object that equals one it has accepted gets the same outcome, which must not be
 * changed. Mistakes are found anew every time. A schema made from it (describe, optional)
 * may or may not remember, so this comes last. A route of 8 policies: 60 us -> 5 us.
 */
export function remember<T extends ZodType>(schema: T): T {
  const good = new Lru<string, Good>(GOOD_MAX)
  let chars = 0
  const add = (one: Good) => {
    chars += one.key.length - (good.set(one.key, one)?.key.length ?? 0)
    for (const { key } of good.values()) {
      if (chars <= GOOD_CHARS_MAX) return
      good.delete(key)
      chars -= key.length
    }
  }
  const { run } = schema._zod
  schema._zod.run = (payload, context) => {
    const key = keyOf(payload.value)
    const known = key === null ? undefined : good.get(key)
    if (known !== undefined) {
      payload.value = known.outcome
      return payload
    }
    const result = run(payload, context)
    if (key !== null && !(result instanceof Promise) && result.issues.length === 0) {
      add({ key, outcome: result.value })
    }
    return result
  }
  return schema
}

/** Equal for equal values only; null for what JSON may not tell apart (null itself, from the infinities). */
function keyOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  const text = JSON.stringify(value)
  return text.includes('null') ? null : text
}
