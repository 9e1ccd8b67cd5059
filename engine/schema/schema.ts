/** The only import of the schema library, and the leaf types that schemas share (docs/specification.md#leaf-types). */
import { type ZodType, z } from 'zod'
import { keywords } from './rule.ts'

export { type ZodType, z }

/**
 * A schema made by the first call and returned by every call: making one takes 20 to 200 us, and a file has 1,000
 * fields. For the same reason several checks go into one call of check(): every further call makes the schema again.
 */
export function once<T extends ZodType>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** A required schema that is made by the first value: most kinds of policies and backends are in no file, or few. */
export function deferred<T extends ZodType>(make: () => T): z.ZodLazy<T> {
  const schema = z.lazy(make)
  // An object asks these of each of its fields, which would make them all.
  schema._zod.optin = undefined
  schema._zod.optout = undefined
  return schema
}

/** With its own message: keys of a map are checked where the file reader's messages do not apply. */
const text = (max: number) =>
  once(() =>
    z.string().check(z.minLength(1, 'must not be empty'), z.maxLength(max, `must have at most ${max} characters`))
  )

/** 1..256 characters. */
export const shortString = text(256)
/** 1..64 characters. */
export const tinyString = text(64)
/** 1..1024 characters. */
export const longString = text(1024)

/** The message for every wrong value of a schema; a value that is not there is still reported as missing. */
export const says =
  (message: string) =>
  (issue: { readonly input?: unknown }): string | undefined =>
    issue.input === undefined ? undefined : message

/** Entries of a list without a bound in the specification: more than is written by hand. */
export const ENTRIES_MAX = 4096

/** The message of a key that is no text; of a text that is no key, its checks say what is wrong with it. */
export function keyMissing({ code, input }: { readonly code?: string; readonly input?: unknown }): string | undefined {
  if (input === undefined || (code !== undefined && code !== 'invalid_type')) return undefined
  if (input === null) return 'is empty: nothing stands here, or the variable that it names has no value'
  return 'must be text: $NAME takes it from the environment'
}

/** A whole number in a range, both ends included. */
export function whole(min: number, max: number) {
  const error = says(`must be a whole number from ${min} to ${max}`)
  return z.int({ error }).check(z.gte(min, { error }), z.lte(max, { error }))
}

/** A list of `min` to `max` entries. */
export function list<T extends ZodType>(item: T, min: number, max: number) {
  const error = says(`must have ${min} to ${max} entries`)
  return z.array(item).check(z.minLength(min, { error }), z.maxLength(max, { error }))
}

const ofName = (chars: typeof shortString) =>
  once(() =>
    chars().regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'must begin with a letter or digit, and have only letters, digits, "-", "_" and "."'
    )
  )

/** A name that ends up in logs, metric labels and references. */
export const name = ofName(shortString)

/**
 * The same, of what may be made of resources: "NAMESPACE.LISTENERSET_LISTENER" has up to 63 + 253 + 253 characters and
 * two signs between, and other names have marks of what they are.
 */
export const fullName = ofName(text(640))

/** A key that users know from the specification or from other gateways, and that weir does not have (yet). */
export const refused = (what: string, instead?: string) =>
  z.never({ error: `${what} is not in this version of weir${instead === undefined ? '' : `; ${instead}`}` }).optional()

/** One refused key per name; `what` goes before the name in the message ("policy"). */
export function refusedKeys(what: string, names: readonly string[]): Record<string, ReturnType<typeof refused>> {
  return Object.fromEntries(names.map((key) => [key, refused(`${what} '${key}'`)]))
}

/** Keys that belong somewhere else: the message says where. */
export function misplacedKeys(where: string, names: readonly string[]): Record<string, ReturnType<typeof refused>> {
  const key = z.never({ error: where }).optional()
  return Object.fromEntries(names.map((name) => [name, key]))
}

/** Whether the schema only exists to refuse its key by name. */
export function isRefused(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod
  return def.type === 'optional' && (def.innerType as z.core.$ZodTypes)._zod.def.type === 'never'
}

/** `params` of an issue that only follows from another one: it makes the value invalid, and no message tells of it. */
export const HIDDEN = { hidden: true }

export function isHidden(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params === HIDDEN
}

/** A map of `min` to `max` entries. */
export function map<K extends z.ZodString, V extends ZodType>(key: K, value: V, min: number, max: number) {
  const text = min === 0 ? `must have at most ${max} entries` : `must have ${min} to ${max} entries`
  const holds = (entries: object) => {
    const { length } = Object.keys(entries)
    return length >= min && length <= max
  }
  const of = { ...(min > 0 ? { minProperties: min } : {}), maxProperties: max }
  return z
    .record(key, value)
    .refine(holds, { error: text, params: keywords(of) })
    .meta(of)
}
