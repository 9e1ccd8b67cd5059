/**
 * What fields that a provider need not get are (translate/tolerance.ts); each format that clients speak lists its own
 * (formats/<format>/tolerated.ts).
 */
import type { Json } from '#backends/llm/conversation.ts'
import { isObject } from './fields.ts'

/** Null: it never matters. Else whether a value asks for nothing. */
export type Tolerated = ((value: Json) => boolean) | null

/** How it is answered, kept or paid, and not what: the provider does as it is used to. */
export const HINT: Tolerated = null
/** For the caller's own records, or copied by SDKs from answers. */
export const RECORD: Tolerated = null

const word = (value: Json): string => JSON.stringify(value).toLowerCase()
/** Some values are what happens unasked. */
export const noOp =
  (...values: readonly Json[]): Tolerated =>
  (value) =>
    values.some((one) => word(one) === word(value))
export const everyOf =
  (name: string, ...values: readonly Json[]): Tolerated =>
  (value) =>
    Array.isArray(value) &&
    value.every((one) => isObject(one) && values.some((v) => word(v) === word(one[name] ?? null)))

/** By path: `[]` is any element, `[@]` one of the model (its turns are echoes of answers), `*` any name. */
export type ToleratedFields = Readonly<Record<string, Tolerated>>

/** OpenAI's two formats have these in common. */
export const OPENAI: ToleratedFields = {
  store: HINT,
  metadata: RECORD,
  'metadata.*': RECORD,
  user: RECORD,
  safety_identifier: RECORD,
  prompt_cache_key: HINT,
  prompt_cache_retention: HINT,
  prompt_cache_options: HINT,
  service_tier: HINT,
  parallel_tool_calls: HINT,
  temperature: HINT,
  top_p: HINT,
  'stream_options.*': HINT
}
