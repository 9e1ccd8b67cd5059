/**
 * Policies of one place, field by field (docs/specification.md#attachment-and-merging): of one target the oldest holds,
 * of several levels the most precise. What adds up is put together: rules of authorization.
 */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault, Part, PartOrigin, PolicySetsPart } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { type Field, type Fields, originsOf } from './fields.ts'
import type { PolicyOptions } from './options.ts'
import { schemasOf } from './schemas.ts'

/** Of one GatewayPolicy. */
export interface Contribution {
  readonly policy: KubernetesObject
  readonly fields: Fields
}

export interface Merged {
  readonly fields: Fields
  /** By those whose fields another one has. */
  readonly conflicts: readonly Fault[]
}

/** `oldest` first. */
export function mergeContributions(oldest: readonly Contribution[], options: PolicyOptions): Merged {
  const fields = new Map<string, Field>()
  const conflicts: Fault[] = []
  for (const { policy, fields: own } of oldest) {
    for (const [name, field] of own) {
      const before = fields.get(name)
      if (before === undefined) fields.set(name, field)
      else if (addsUp(name, options)) fields.set(name, together(before, field))
      else conflicts.push(conflict(policy, field, before))
    }
  }
  return { fields, conflicts }
}

function conflict(policy: KubernetesObject, { from }: Field, winner: Field): Fault {
  const message = `${winner.key.replace('/', ' ')} says it of the same target, and is older or the first by name`
  return { type: 'Conflicted', reason: 'Conflicted', message, place: { key: keyOf(policy), path: from } }
}

const addsUp = (name: string, options: PolicyOptions): boolean => schemasOf(options).adding.has(name)

/** Where `mcp` has its rules. */
const INSIDE = 'authorization'

/** Rules of both, as files have them in one place. */
function together(before: Field, after: Field): Field {
  const [first, second] = [placedRules(before), placedRules(after)]
  const all = [...first.rules, ...second.rules]
  const at: Path = first.isInside ? [INSIDE, 'rules'] : ['rules']
  const rules = all.map(({ rule }) => rule)
  const value = first.isInside ? { ...objectOf(before.value), [INSIDE]: { rules } } : { rules }
  const origins = all.flatMap(({ origins: own }, i) =>
    own.map(([inside, from]): PartOrigin => [[...at, i, ...inside], from])
  )
  return { value, key: before.key, from: before.from, origins }
}

interface PlacedRule {
  readonly rule: unknown
  readonly origins: readonly PartOrigin[]
}

function placedRules({ value, key, from, origins }: Field) {
  const isInside = objectOf(value)[INSIDE] !== undefined
  const inside: Path = isInside ? [INSIDE] : []
  const { rules, policy, action = 'Allow' } = objectOf(isInside ? objectOf(value)[INSIDE] : value)
  if (Array.isArray(rules)) {
    const placed = rules.map((rule: unknown, i): PlacedRule => {
      const at = [...inside, 'rules', i]
      const own = origins.filter(([place]) => at.every((step, s) => place[s] === step))
      const known = own.map(([place, where]): PartOrigin => [place.slice(at.length), where])
      return { rule, origins: known.length > 0 ? known : [[[], { key, path: from }]] }
    })
    return { isInside, rules: placed }
  }
  const { matchExpressions } = objectOf(policy)
  const expressions = Array.isArray(matchExpressions) ? matchExpressions.map(String) : []
  const place: Path = [...from, ...inside, 'policy', 'matchExpressions']
  // One of those that are required is enough: a term that fails does no harm beside one that is true.
  const isRequired = action === 'Require'
  const texts = isRequired ? [expressions.map((one) => `(${one})`).join(' || ')] : expressions
  const placed = texts.map((source, i): PlacedRule => {
    const path = isRequired ? place : [...place, i]
    return { rule: { [String(action).toLowerCase()]: source }, origins: [[[], { key, path }]] }
  })
  return { isInside, rules: placed }
}

// --- several levels at one place of a file ---

const PRE_ROUTING = 'PreRouting'

export function setsOf(phases: { readonly pre: Fields; readonly post: Fields }): PolicySetsPart {
  const sets = [
    { fields: phases.pre, extra: { phase: PRE_ROUTING } },
    { fields: phases.post, extra: {} }
  ].filter(({ fields }) => fields.size > 0)
  return {
    value: sets.map(({ fields, extra }) => ({
      ...extra,
      ...Object.fromEntries([...fields].map(([name, { value }]) => [name, value]))
    })),
    origins: sets.flatMap(({ fields }, i) => [...fields].flatMap(([name, field]) => originsOf(field, [i, name])))
  }
}

export function mergeLevels(all: readonly PolicySetsPart[], options: PolicyOptions): PolicySetsPart {
  const levels = all.filter(({ value }) => value.length > 0)
  const [only] = levels
  // As with most rules: one level, or none.
  if (only === undefined) return { value: [], origins: [] }
  if (levels.length === 1 && only.value.length === 1) return only
  const phases = [PRE_ROUTING, undefined].map((phase) => {
    const sets = levels.flatMap((level) =>
      level.value.flatMap((set, i) =>
        (set.phase === PRE_ROUTING) === (phase === PRE_ROUTING) ? [setAt(level, set, i)] : []
      )
    )
    return { phase, merged: sets.reduce((outer, inner) => over(outer, inner, options), NO_SET) }
  })
  const present = phases.filter(({ merged }) => Object.keys(merged.value).length > 0)
  return {
    value: present.map(({ phase, merged }) => (phase === undefined ? merged.value : { phase, ...merged.value })),
    origins: present.flatMap(({ merged }, i) => merged.origins.map(([at, from]): PartOrigin => [[i, ...at], from]))
  }
}

const NO_SET: Part = { value: {}, origins: [] }

function setAt({ origins }: PolicySetsPart, { phase: _, ...value }: Raw, index: number): Part {
  const own = origins.filter(([[first]]) => first === index)
  return { value, origins: own.map(([at, from]) => [at.slice(1), from]) }
}

/** `inner` over `outer`, field by field. */
function over(outer: Part, inner: Part, options: PolicyOptions): Part {
  const value: Raw = { ...outer.value }
  let origins = outer.origins
  const drop = (path: Path) => {
    origins = origins.filter(([at]) => !path.every((step, i) => at[i] === step))
  }
  for (const [name, field] of Object.entries(inner.value)) {
    const own = inner.origins.filter(([[first]]) => first === name)
    const before = value[name]
    if (before !== undefined && addsUp(name, options)) {
      const joined = together(fieldAt(outer, name), fieldAt(inner, name))
      value[name] = joined.value
      drop([name])
      origins = [...origins, ...joined.origins.map(([at, from]): PartOrigin => [[name, ...at], from])]
      continue
    }
    for (const path of samePlaces(name, options)) {
      remove(value, path)
      drop(path)
    }
    value[name] = field
    origins = [...origins, ...own]
  }
  return { value, origins }
}

/** A field of a merged set, to be put together with another one. */
function fieldAt({ value, origins }: Part, name: string): Field {
  const own = origins.filter(([[first]]) => first === name)
  const [, whole] = own.find(([at]) => at.length === 1) ?? [[], undefined]
  const key = whole?.key ?? 'GatewayPolicy//'
  return { value: value[name], key, from: whole?.path ?? [], origins: own.map(([at, from]) => [at.slice(1), from]) }
}

/** Where the outer level says what `name` says: under another name of the policy, or as a part of it. */
function samePlaces(name: string, options: PolicyOptions): Path[] {
  const { keys } = schemasOf(options)
  const key = keys.find((one) => one.key === name)
  if (key === undefined) return [[name]]
  const { policy, field } = key
  const others = keys.filter((one) => one.policy === policy && (field === null || [null, field].includes(one.field)))
  return others.map((one) => (one.field === field ? [one.key] : field === null ? [one.key] : [one.key, field]))
}

/** What is around it is a copy then; and nothing, when it was all that there was. */
function remove(value: Raw, [name, inside]: Path): void {
  if (inside === undefined) {
    delete value[String(name)]
    return
  }
  const { [String(inside)]: _, ...rest } = objectOf(value[String(name)])
  if (value[String(name)] === undefined) return
  if (Object.keys(rest).length === 0) delete value[String(name)]
  else value[String(name)] = rest
}
