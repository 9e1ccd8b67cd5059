/**
 * A configuration as it was read, before and in spite of validation: objects with their places. Mistakes that take two
 * places to see are reported in the same run as those that a schema sees, so what is looked at here may be anything.
 */

/** Keys and indices from the top of the configuration. */
export type Path = readonly PropertyKey[]

export type Raw = Record<string, unknown>

export interface Placed {
  readonly raw: Raw
  readonly path: Path
}

/** The value as an object; anything else is an empty one. */
export function objectOf(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}
}

/** The entries of a list that are objects, with their paths; anything else is an empty list. */
export function entriesOf(value: unknown, path: Path): Placed[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((entry: unknown, i) =>
    typeof entry === 'object' && entry !== null ? [{ raw: entry as Raw, path: [...path, i] }] : []
  )
}

/** The sets of policies of a place: one, or a list of them. */
export function policySetsOf({ raw, path }: Placed): Placed[] {
  const at = [...path, 'policies']
  return Array.isArray(raw.policies) ? entriesOf(raw.policies, at) : [{ raw: objectOf(raw.policies), path: at }]
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/

/** As in binds[0].listeners[1].name. Whole, to tell paths apart. */
export function pathText(path: Path): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (PLAIN_KEY.test(String(key))) text += text === '' ? String(key) : `.${String(key)}`
    else text += `[${JSON.stringify(String(key))}]`
  }
  return text
}

/** A path as text (binds[0].listeners[1].name) whose keys are plain words. */
export function parsePath(text: string): Path {
  const steps = text.match(/[^.[\]]+/g) ?? []
  return steps.map((step) => (/^[0-9]+$/.test(step) ? Number(step) : step))
}

/** What stands at `path`; undefined: nothing. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (Array.isArray(at) ? at[Number(key)] : objectOf(at)[String(key)]), value)
}
