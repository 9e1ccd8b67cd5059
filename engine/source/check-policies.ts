/** Policies that contradict each other, or that do not fit the routes they are attached to. */

import { NEEDS_ROUTE, needsRoute } from '#engine/build/policies.ts'
import { judgedName } from '#engine/build/services.ts'
import { type Compiled, FieldError, type Policy, type Sources } from '#engine/contract/policy.ts'
import type { CompiledMatch } from '#engine/contract/route.ts'
import { NO_REMOTE_SERVICES, type ServiceRef, type Services } from '#engine/contract/service.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'
import { objectOf, type Path, type Placed, pathText, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import type { Kinds } from './kinds.ts'
import { canonicalPolicies, isPre, type PolicyKey, policyKeys } from './policies.ts'
import type { ConfigSchema } from './schema.ts'
import { type ConfigTree, type Finding, listenersOf, type PlacedRoute, type Report } from './tree.ts'

export interface PolicyParts {
  readonly policies: readonly Policy[]
  readonly schema: ConfigSchema['policies']
  readonly sources: Sources
  readonly kinds: Kinds
}

/** Policies that are given twice, and phases where there are none. */
export function checkNames(tree: ConfigTree, policies: readonly Policy[]): Finding[] {
  const keys = policyKeys(policies)
  const findings: Finding[] = []
  const report: Report = (path, message) => {
    findings.push({ path, message, at: 'key' })
  }
  const listeners = listenersOf(tree)
  const routes = listeners.flatMap((listener) => listener.routes)
  const references = routes.flatMap(referencesWithPolicies)
  for (const place of [tree.top, ...listeners, ...routes, ...references]) {
    const sets = policySetsOf(place)
    for (const isFirst of [true, false]) {
      checkRepeated(
        sets.filter((set) => isPre(set.raw) === isFirst),
        keys,
        report
      )
    }
  }
  const { config, frontendPolicies } = tree.top.raw
  for (const { name, inConfig } of policies) {
    if (inConfig === undefined || objectOf(config)[name] === undefined) continue
    if (objectOf(frontendPolicies)[name] === undefined) continue
    report(['config', name], `says again what frontendPolicies.${name} says: keep one of them`)
  }
  for (const route of routes) refusePreRouting(route, report)
  for (const { raw, path } of [...listeners, ...routes].flatMap(policySetsOf)) {
    if (raw.targetRefs !== undefined) report([...path, 'targetRefs'], `is for policies ${tree.words.top}`)
  }
  return findings
}

/**
 * Resolves and compiles the policies of every route once, as workers will: what they refuse is found here,
 * where it still has a place. Parts that have mistakes of their own are left out.
 */
export function checkPolicies(tree: ConfigTree, parts: PolicyParts): Finding[] {
  const { policies, kinds } = parts
  const keys = policyKeys(policies)
  const findings = new Map<string, Finding>()
  const named = new Set(tree.backends.map(({ raw }) => raw.name))
  // A policy of a listener is compiled for each of its routes and may be refused for the same reason by many.
  const report: Report = (path, message) => {
    findings.set(`${pathText(path)} ${message}`, { path, message, at: 'key' })
  }
  const seen: Seen = { done: new WeakSet(), named, services: namedServices(tree, kinds), top: tree.words.top, report }
  // A set that stands in several places (an alias of YAML) is one set.
  const known = new Map<Raw, Placed>()
  const first = (set: Placed): Placed => {
    if (!known.has(set.raw)) known.set(set.raw, set)
    return known.get(set.raw)!
  }
  const at = (place: Placed, phase: Phase): Attached => {
    const sets = policySetsOf(place)
      .filter((set) => isPre(set.raw) === (phase === 'PreRouting'))
      .map(first)
    return resolved(attachedTo(sets, keys, parts.schema), parts, report)
  }
  const { top } = tree
  const gateway = { pre: at(top, 'PreRouting'), post: at(top, 'PostRouting') }
  for (const listener of listenersOf(tree)) {
    compileAll([], [gateway.pre, at(listener, 'PreRouting')], policies, seen)
    const outer = at(listener, 'PostRouting')
    for (const route of listener.routes) {
      const matches = matchesOf(route.raw.matches)
      const levels = [gateway.post, outer, at(route, 'PostRouting')]
      if (matches === null) continue
      compileAll(matches, levels, policies, seen)
      for (const reference of referencesWithPolicies(route))
        compileAll(matches, [at(reference, 'PostRouting')], policies, seen)
    }
  }
  resolveFrontend(tree, parts, report)
  return [...findings.values()]
}

/** Frontend policies are compiled with the whole; what they refer to is looked for here. */
function resolveFrontend({ top }: ConfigTree, { policies, sources }: PolicyParts, report: Report): void {
  for (const { name, section, schema, inConfig, resolve } of policies) {
    if (section !== 'frontend' || resolve === undefined) continue
    for (const [key, form] of [
      ['frontendPolicies', schema],
      ['config', inConfig]
    ] as const) {
      const config = form?.safeParse(objectOf(top.raw[key])[name])
      if (config?.success !== true) continue
      try {
        resolve(config.data as never, sources)
      } catch (error) {
        const inside = error instanceof FieldError ? error.path : []
        report([key, name, ...inside], (error as Error).message)
      }
    }
  }
}

/** Most have none, and there are thousands. */
const referencesWithPolicies = ({ references }: PlacedRoute) =>
  references.filter(({ raw }) => raw.policies !== undefined)

type Phase = 'PreRouting' | 'PostRouting'

function refusePreRouting(route: Placed, report: Report): void {
  for (const { raw, path } of policySetsOf(route)) {
    if (!isPre(raw)) continue
    report(
      [...path, 'phase'],
      'PreRouting runs before a route is chosen: put these policies on the listener or at the top'
    )
  }
}

/** The same thing said under two names, or in two sets of a phase: which one holds would be a guess. */
function checkRepeated(sets: readonly Placed[], keys: readonly PolicyKey[], report: Report): void {
  const firstSetWith = new Map<string, Placed>()
  for (const set of sets) {
    const policies = objectOf(set.raw)
    const keyOfField = new Map<string, string>()
    for (const { key, policy, field } of keys) {
      if (policies[key] === undefined) continue
      if ((firstSetWith.get(policy.name) ?? set) !== set) {
        report([...set.path, key], `${policy.name} is in another set of this phase already: keep it in one of them`)
      }
      firstSetWith.set(policy.name, set)
      const hasFields = policy.aliases.some(({ wrap }) => wrap !== undefined)
      const fields = field !== null ? [field] : hasFields ? Object.keys(objectOf(policies[key])) : ['']
      for (const name of fields) {
        const slot = `${policy.name}.${name}`
        const other = keyOfField.get(slot)
        if (other === undefined) keyOfField.set(slot, key)
        else report([...set.path, key], `says again what ${other} says: keep one of them`)
      }
    }
  }
}

/** Policies of one place and phase, and the key that each came from. */
export interface Attached {
  readonly policies: PolicySet
  readonly pathOf: (policy: string) => Path
}

export function attachedTo(
  sets: readonly Placed[],
  keys: readonly PolicyKey[],
  schema: ConfigSchema['policies']
): Attached {
  const policies: Record<string, unknown> = {}
  for (const { raw } of sets) {
    const sound: Record<string, unknown> = {}
    for (const { key } of keys) {
      if (raw[key] === undefined) continue
      const result = schema.shape[key]?.safeParse(raw[key])
      if (result?.success === true) sound[key] = result.data
    }
    Object.assign(policies, canonicalPolicies(sound, keys))
  }
  return {
    policies,
    pathOf: (name) => {
      for (const { raw, path } of sets) {
        const found = keys.find(({ key, policy }) => policy.name === name && raw[key] !== undefined)
        if (found !== undefined) return [...path, found.key]
      }
      return []
    }
  }
}

/** What they refer to in its place. A policy that cannot be resolved is reported and left out. */
function resolved(attached: Attached, { policies, sources }: PolicyParts, report: Report): Attached {
  const { pathOf } = attached
  const out: Record<string, unknown> = { ...attached.policies }
  for (const policy of policies) {
    const config = out[policy.name]
    if (config === undefined || policy.resolve === undefined) continue
    try {
      out[policy.name] = policy.resolve(config as never, sources)
    } catch (error) {
      const inside = error instanceof FieldError ? error.path : []
      report([...pathOf(policy.name), ...inside], (error as Error).message)
      delete out[policy.name]
    }
  }
  return { policies: out, pathOf }
}

interface Seen {
  /** Configurations that were compiled: that of a listener once, not for each of its routes (keys are costly). */
  readonly done: WeakSet<object>
  /** Names of backends. */
  readonly named: ReadonlySet<unknown>
  readonly services: Services
  /** Where backends stand. */
  readonly top: string
  readonly report: Report
}

/** `levels` come least precise first. No matches: the phase PreRouting. */
function compileAll(
  matches: readonly CompiledMatch[],
  levels: readonly Attached[],
  policies: readonly Policy[],
  { done, named, services, top, report }: Seen
): void {
  // The size matters to hooks only, and none of them runs here.
  const context = { ...NO_SERVICES, services, state: newStateStore(), maxBufferBytes: 0, matches, attachment: '' }
  for (const policy of policies) {
    const owner = levels.findLast((level) => level.policies[policy.name] !== undefined)
    if (owner === undefined) continue
    const config = owner.policies[policy.name]
    if (done.has(Object(config))) continue
    // Before routing there are no matches, and settings are refused: that is another question.
    if (!policy.usesMatches && matches.length > 0) done.add(Object(config))
    let compiled: Compiled = {}
    try {
      compiled = policy.compile((policy.accumulates ? [config] : config) as never, context)
    } catch (error) {
      const inside = error instanceof FieldError ? error.path : []
      report([...owner.pathOf(policy.name), ...inside], (error as Error).message)
    }
    for (const { backend } of compiled.mirrors ?? []) {
      if (typeof backend !== 'string' || named.has(backend)) continue
      report([...owner.pathOf(policy.name), 'backend'], `there is no backend "${backend}" ${top}`)
    }
    if (matches.length === 0 && needsRoute(compiled)) {
      report(owner.pathOf(policy.name), `${policy.name} ${NEEDS_ROUTE}`)
    }
  }
}

/** Services that no policy uses: their names are checked all the same. */
function namedServices({ backends }: ConfigTree, kinds: Kinds): Services {
  const names = (judged: ConfigTree['backends']) => judged.flatMap(({ raw }) => text(raw.name) ?? [])
  const known = names(backends)
  const servers = names(backends.filter(({ raw }) => kinds.configOf(raw)?.isServer === true))
  const judge = (ref: ServiceRef): void => {
    if ('name' in ref) judgedName(ref, known, servers)
  }
  return {
    http: (ref) => {
      judge(ref)
      return NO_REMOTE_SERVICES.http(ref)
    },
    grpc: (ref) => {
      judge(ref)
      return NO_REMOTE_SERVICES.grpc(ref)
    }
  }
}

/** The matches of a route as policies get them; null when one of them is wrong. */
function matchesOf(value: unknown): CompiledMatch[] | null {
  const values = Array.isArray(value) && value.length > 0 ? value : [{}]
  const matches = values.flatMap((match: unknown) => compiledMatch(objectOf(match).path) ?? [])
  return matches.length === values.length ? matches : null
}

function compiledMatch(value: unknown): CompiledMatch | null {
  if (value === undefined) return { kind: 'prefix', path: '' }
  const { exact, pathPrefix, regex } = objectOf(value)
  if (typeof exact === 'string') return { kind: 'exact', path: exact }
  if (typeof regex === 'string') return { kind: 'regex', path: regex }
  // A final slash of a prefix means nothing (Gateway API, PathPrefix).
  return typeof pathPrefix === 'string' ? { kind: 'prefix', path: pathPrefix.replace(/\/$/, '') } : null
}
