/** Rules of schemas (engine/schema/rule.ts) -> x-kubernetes-validations. */
import { realName } from '#engine/schema/names.ts'
import type { Rule } from '#engine/schema/rule.ts'

export interface Validation {
  readonly rule: string
  readonly message: string
  /** JSON path from the value on. */
  readonly fieldPath?: string
}

/** Names of fields that CEL has other uses for (Kubernetes, "CEL: Escaping of property names"). */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' '
  )
)

const field = (name: string) => `self.${RESERVED.has(name) ? `__${name}__` : name}`
const has = (name: string) => `has(${field(name)})`

/** `message`, `path`: of the check that has the rule. Null: neither has a message. */
export function validationOf(rule: Rule, message: string | null, path: readonly PropertyKey[]): Validation | null {
  if (rule.kind === 'cel') {
    const text = rule.message ?? message
    if (text === null) return null
    const at = rule.field === undefined ? path : [rule.field]
    const fieldPath = at.map((key) => `.${String(key)}`).join('')
    return { rule: rule.expression, message: text, ...(fieldPath === '' ? {} : { fieldPath }) }
  }
  const { kind, names } = rule
  // Neutral words count, and are not proposed.
  const shown = names.filter((name) => realName(name) === name).join(', ')
  return { rule: COUNTS[kind](names), message: `must have ${kind} of ${shown}` }
}

const count = (names: readonly string[]) => `[${names.map(has).join(', ')}].filter(x, x).size()`

const COUNTS = {
  'exactly one': (names: readonly string[]) => `${count(names)} == 1`,
  'at most one': (names: readonly string[]) => `${count(names)} <= 1`,
  'at least one': (names: readonly string[]) => names.map(has).join(' || ')
} as const
