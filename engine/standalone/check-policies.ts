/** Policies that contradict each other, or that do not fit the routes they are attached to. */
import { newKept } from '#engine/contract/kept.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { CompiledMatch } from '#engine/contract/route.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'
import type { FileSchema } from './file.ts'
import { canonicalPolicies, type PolicyKey, policyKeys } from './file-policies.ts'
import type { Path, Problem } from './problems.ts'
import type { Source } from './source.ts'
import { bindsOf, objectOf, type Placed, type Raw } from './walk.ts'

/** Policies that are given under two names. */
export function checkNames(file: Raw, source: Source, policies: readonly Policy[]): Problem[] {
  const keys = policyKeys(policies)
  const { problems, report } = collector(source)
  for (const { listeners } of bindsOf(file)) {
    for (const listener of listeners) {
      checkRepeated(listener, keys, report)
      for (const route of listener.routes) checkRepeated(route, keys, report)
    }
  }
  return problems
}

/**
 * Compiles the policies of every route once, as workers will: what they refuse is found here, where
 * it still has a line. Parts that have mistakes of their own are left out.
 */
export function checkPolicies(
  file: Raw,
  source: Source,
  policies: readonly Policy[],
  schema: FileSchema['policies']
): Problem[] {
  const keys = policyKeys(policies)
  const { problems, report } = collector(source)
  for (const { listeners } of bindsOf(file)) {
    for (const listener of listeners) {
      const outer = attachedTo(listener, keys, schema)
      for (const route of listener.routes) {
        compileAll(route.raw, [outer, attachedTo(route, keys, schema)], policies, report)
      }
    }
  }
  return unique(problems)
}

type Report = (path: Path, message: string) => void

function collector(source: Source): { readonly problems: Problem[]; readonly report: Report } {
  const problems: Problem[] = []
  const report: Report = (path, message) => {
    problems.push({ path, offset: source.locate(path, 'key'), message })
  }
  return { problems, report }
}

/** The same thing said under two names: which one holds would be a guess. */
function checkRepeated({ raw, path }: Placed, keys: readonly PolicyKey[], report: Report): void {
  const given = objectOf(raw.policies)
  const saidBy = new Map<string, string>()
  for (const { key, policy, field } of keys) {
    if (given[key] === undefined) continue
    const hasFields = policy.aliases.some(({ wrap }) => wrap !== undefined)
    const fields = field !== null ? [field] : hasFields ? Object.keys(objectOf(given[key])) : ['']
    for (const name of fields) {
      const slot = `${policy.name}.${name}`
      const other = saidBy.get(slot)
      if (other === undefined) saidBy.set(slot, key)
      else report([...path, 'policies', key], `says again what ${other} says: keep one of them`)
    }
  }
}

/** Policies of one place, and the key in the file that each came from. */
interface Attached {
  readonly policies: PolicySet
  readonly pathOf: (policy: string) => Path
}

function attachedTo({ raw, path }: Placed, keys: readonly PolicyKey[], schema: FileSchema['policies']): Attached {
  const given = objectOf(raw.policies)
  const sound: Record<string, unknown> = {}
  for (const [key, config] of Object.entries(given)) {
    const result = schema.shape[key]?.safeParse(config)
    if (result?.success === true) sound[key] = result.data
  }
  return {
    policies: canonicalPolicies(sound, keys),
    pathOf: (name) => {
      const found = keys.find(({ key, policy }) => policy.name === name && given[key] !== undefined)
      return [...path, 'policies', found?.key ?? name]
    }
  }
}

function compileAll(
  route: Raw,
  [outer, inner]: readonly [Attached, Attached],
  policies: readonly Policy[],
  report: Report
): void {
  const matches = matchesOf(route.matches)
  if (matches === null) return
  // The size matters to hooks only, and none of them runs here.
  const context = { kept: newKept(), maxBufferBytes: 0, matches }
  for (const policy of policies) {
    const owner = inner.policies[policy.name] === undefined ? outer : inner
    const config = owner.policies[policy.name]
    if (config === undefined) continue
    try {
      policy.compile((policy.accumulates ? [config] : config) as never, context)
    } catch (error) {
      report(owner.pathOf(policy.name), (error as Error).message)
    }
  }
}

/** What policies are told about the matches of a route; null when one of them is wrong. */
function matchesOf(value: unknown): CompiledMatch[] | null {
  const given = Array.isArray(value) && value.length > 0 ? value : [{}]
  const matches = given.flatMap((match: unknown) => compiledMatch(objectOf(match).path) ?? [])
  return matches.length === given.length ? matches : null
}

function compiledMatch(value: unknown): CompiledMatch | null {
  if (value === undefined) return { kind: 'prefix', path: '' }
  const { exact, pathPrefix, regex } = objectOf(value)
  if (typeof exact === 'string') return { kind: 'exact', path: exact }
  if (typeof regex === 'string') return { kind: 'regex', path: regex }
  // A final slash of a prefix means nothing (Gateway API, PathPrefix).
  return typeof pathPrefix === 'string' ? { kind: 'prefix', path: pathPrefix.replace(/\/$/, '') } : null
}

/** A policy of a listener is compiled for each of its routes and may be refused for the same reason by many. */
function unique(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ offset, message }) => {
    const key = `${offset} ${message}`
    return !seen.has(key) && seen.add(key)
  })
}
