/**
 * What API servers can check of a schema. A check that is a function says here what its form in CEL is, or why it has
 * none; engine/kubernetes/crds refuses one that says nothing. Each is the `params` of a check.
 */

export type Rule = Choice | Cel

/** How many of the fields `names` an object may have. */
export interface Choice {
  readonly kind: 'exactly one' | 'at least one' | 'at most one'
  readonly names: readonly string[]
}

export interface Cel {
  readonly kind: 'cel'
  /** Over `self`, the value that the check is of; fields that only files have cannot be in it. */
  readonly expression: string
  /** Absent: that of the check, which must be the same for every value. */
  readonly message?: string
  /** The field that is wrong; absent: the value itself. */
  readonly field?: string
}

export interface Enforcement {
  readonly rules: readonly Rule[]
  /** Keywords of OpenAPI that say the same. */
  readonly keywords?: Readonly<Record<string, unknown>>
}

const enforcements = new WeakSet<object>()

function enforcement(value: Enforcement): Enforcement & Record<string, unknown> {
  enforcements.add(value)
  return value as Enforcement & Record<string, unknown>
}

export const choice = (kind: Choice['kind'], names: readonly string[]) => enforcement({ rules: [{ kind, names }] })

export const cel = (expression: string, more: { readonly message?: string; readonly field?: string } = {}) =>
  enforcement({ rules: [{ kind: 'cel', expression, ...more }] })

export const cels = (...rules: readonly Omit<Cel, 'kind'>[]) =>
  enforcement({ rules: rules.map((rule) => ({ kind: 'cel', ...rule })) })

export const keywords = (keywords: Readonly<Record<string, unknown>>) => enforcement({ rules: [], keywords })

/** Of a list of objects: no two have the same `key`. */
export const uniqueBy = (key: string) =>
  keywords({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] })

/** It compares spellings of which resources have one. */
export const ONLY_FILES = enforcement({ rules: [] })

/** No API server can tell (is it an expression, a pattern, a key set?): the gateway says it in the status. */
export const ONLY_GATEWAY = enforcement({ rules: [] })

/** What `params` of a check say; null: nothing. */
export function enforcementOf(params: unknown): Enforcement | null {
  return typeof params === 'object' && params !== null && enforcements.has(params) ? (params as Enforcement) : null
}

/** The second argument of superRefine. */
export const enforcedAs = (params: Enforcement) => ({ params }) as { readonly when?: never }
