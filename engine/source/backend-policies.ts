/**
 * What is wrong with policies that act on backends: said twice in one place, in the wrong phase, on a backend on which
 * they do not act, or above none on which they do.
 */
import {
  type BackendPolicies,
  type Doubt,
  type PlacedPolicy,
  PRE_ROUTING,
  type Report
} from '#engine/contract/backend-config.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { type Placed, policySetsOf } from '#engine/schema/placed.ts'
import { writtenAccounts } from './accounts.ts'
import type { Kinds } from './kinds.ts'
import {
  backendsOf,
  type ConfigTree,
  type Finding,
  isInPlace,
  listenersOf,
  type PlacedBackend,
  type PlacedBind,
  type PlacedReference,
  routesOf,
  valuesOf
} from './tree.ts'

/** `sources`: what policies refer to. `isPart`: what acts on no backend here may act on one elsewhere. */
export function checkBackends(tree: ConfigTree, kinds: Kinds, sources: DocumentSources, isPart: boolean): Finding[] {
  const findings: Finding[] = []
  const report: Report = (path, message, at = 'key') => {
    findings.push({ path, message, at })
  }
  const lost = new Set<string>()
  const plain = kinds.keys.filter(({ config, isAlias }) => config.isPlain && !isAlias)
  const plainKeys = plain.map(({ name }) => name).join(', ')
  for (const policies of kinds.policies) {
    const checks = new Checks(tree, policies, plainKeys, sources, lost, report)
    checks.run()
    if (!isPart) checks.reportUnreached()
  }
  for (const { config, value } of [...backendsOf(tree), ...shortcutsOf(tree)]) config?.check?.(value, sources, report)
  return findings
}

/** What is allowed and better not had. */
export function backendDoubts(tree: ConfigTree, kinds: Kinds): Doubt[] {
  const configs = new Set([...kinds.keys, ...kinds.shortcuts].map(({ config }) => config))
  const places = [tree.top, ...listenersOf(tree), ...writtenRoutes(tree), ...backendPlaces(tree)]
  const groups = kinds.policies.map((policies) => ({
    policies,
    all: [...places, ...partsOf(tree, policies)].flatMap((place) => placedPolicies(place, policies))
  }))
  const around = kinds.policies.flatMap((policies) => places.flatMap((place) => placedPolicies(place, policies)))
  const hasTls = around.some(({ field }) => field === 'tls')
  const context = { hasTls, accounts: writtenAccounts(tree) }
  const ofKinds = [...configs].flatMap((config) =>
    (config.warnings ?? []).flatMap((find) => find(valuesOf(tree, config), context))
  )
  return [...ofKinds, ...groups.flatMap(({ policies, all }) => all.flatMap((one) => policies.warnings?.(one) ?? []))]
}

class Checks {
  readonly #tree: ConfigTree
  readonly #policies: BackendPolicies
  /** Names of the keys that describe plain servers. */
  readonly #plainKeys: string
  readonly #sources: DocumentSources
  /** Paths of policies above no backend, of all groups. */
  readonly #lost: Set<string>
  readonly #report: Report
  readonly #policiesAt = new Map<Placed, readonly PlacedPolicy[]>()
  /** Those around routes, and whether they reach a backend. */
  readonly #reached = new Map<PlacedPolicy, boolean>()

  constructor(
    tree: ConfigTree,
    policies: BackendPolicies,
    plainKeys: string,
    sources: DocumentSources,
    lost: Set<string>,
    report: Report
  ) {
    this.#tree = tree
    this.#policies = policies
    this.#plainKeys = plainKeys
    this.#sources = sources
    this.#lost = lost
    this.#report = report
  }

  run(): void {
    const { top, backends, binds } = this.#tree
    const outer = this.#around(top)
    for (const backend of backends) this.#checkNamed(backend, outer)
    for (const bind of binds) this.#checkBind(bind, outer)
    for (const part of partsOf(this.#tree, this.#policies)) {
      const own = this.#at(part)
      // What acts on plain servers only is misplaced inside a backend of another kind.
      if (this.#policies.inside !== undefined) this.#misplaced(own)
    }
  }

  /** After `run`: policies around routes that lead to no backend on which they act. */
  reportUnreached(): void {
    for (const [{ path }, isReached] of this.#reached) {
      if (isReached || this.#lost.has(path.slice(0, -1).join())) continue
      this.#lost.add(path.join())
      this.#report(path, this.#policies.words.unreached(this.#plainKeys))
    }
  }

  #checkBind(bind: PlacedBind, top: readonly PlacedPolicy[]): void {
    for (const listener of bind.listeners) {
      const outer = [...top, ...this.#around(listener)]
      this.#checkShortcut(bind, outer)
      for (const route of listener.routes) {
        const around = bind.shortcut === null ? [...outer, ...this.#around(route)] : outer
        for (const reference of route.references) this.#checkReference(reference, around, bind)
      }
    }
  }

  #checkShortcut({ shortcut }: PlacedBind, outer: readonly PlacedPolicy[]): void {
    if (shortcut === null) return
    const { raw, path } = this.#tree.shortcuts.find((one) => one.shortcut === shortcut)!.value
    const value = { raw, path }
    // What it says itself stands around it, and reaches nothing.
    if (this.#lackOf({ config: shortcut.config, value }) !== null) return
    const refusal = shortcut.refused?.find(({ policies }) => policies === this.#policies)
    if (refusal !== undefined) this.#misplaced(outer, undefined, refusal.message)
    const { actsOnAll, check } = this.#policies
    if (!actsOnAll && shortcut.policies?.includes(this.#policies) !== true) return
    this.#reach(outer)
    const backend = { raw, path, isPlain: false, config: shortcut.config, value }
    if (refusal === undefined) check?.(backend, outer, null, this.#report)
  }

  #checkNamed(backend: PlacedBackend, top: readonly PlacedPolicy[]): void {
    const own = this.#at(backend)
    const lack = this.#lackOf(backend)
    if (lack !== null) {
      // Of a part of a policy no more is said than of the policy.
      if (this.#policies.inside === undefined) this.#misplaced(own, undefined, lack)
      return
    }
    if (!this.#actsOn(backend)) {
      this.#misplaced(own, backend.config?.advice)
      return
    }
    const { actsOnAll, actsAroundRoutes } = this.#policies
    const policies = actsOnAll && !actsAroundRoutes ? [...top, ...own] : own
    this.#reach(policies)
    this.#policies.check?.(backend, policies, null, this.#report)
  }

  #checkReference(reference: PlacedReference, around: readonly PlacedPolicy[], bind: PlacedBind): void {
    const { backend } = reference
    const own = this.#at(reference)
    // Another check reports that there is no such backend.
    if (backend === undefined) {
      if (this.#policies.actsOnAll) this.#reach(around)
      return
    }
    const { check, inside } = this.#policies
    const lack = this.#lackOf(backend)
    if (lack !== null) {
      // Of a part of a policy no more is said than of the policy.
      if (this.#policies.inside === undefined) this.#misplaced(own, undefined, lack)
      return
    }
    if (!this.#actsOn(backend)) {
      // A part of a policy does nothing there; the policy itself acts.
      const isRefused = inside === undefined || isInPlace(reference)
      if (isRefused) this.#misplaced(own)
      return
    }
    this.#reach(around)
    const inner = isInPlace(reference) ? [] : this.#at(backend)
    check?.(backend, [...around, ...inner, ...own], bind, this.#report)
  }

  #misplaced(
    all: readonly PlacedPolicy[],
    advice?: string,
    message = this.#policies.words.misplaced(this.#plainKeys, advice)
  ): void {
    for (const { path } of all) this.#report(path, message)
  }

  #actsOn({ config }: PlacedBackend): boolean {
    return this.#policies.actsOnAll === true || config === undefined || config.policies.includes(this.#policies)
  }

  /** Why a policy about servers does nothing there; null: it is not about them, or does. */
  #lackOf({ config, value }: Pick<PlacedBackend, 'config' | 'value'>): string | null {
    return this.#policies.needsServers === true ? (config?.unconnected?.(value) ?? null) : null
  }

  #reach(all: readonly PlacedPolicy[]): void {
    for (const policy of all) if (this.#reached.has(policy)) this.#reached.set(policy, true)
  }

  /** What stands at a place around routes, which must reach some backend. */
  #around(place: Placed): readonly PlacedPolicy[] {
    const all = this.#at(place)
    for (const policy of all) if (!this.#reached.has(policy)) this.#reached.set(policy, false)
    return all
  }

  /** What stands at a place, looked at once. Not what is in the wrong phase. */
  #at(place: Placed): readonly PlacedPolicy[] {
    // Most have none, and there are thousands.
    if (place.raw.policies === undefined) return NONE
    const known = this.#policiesAt.get(place)
    if (known !== undefined) return known
    const { words, addsUp, checkValue, inside } = this.#policies
    const seen = new Map<string, string>()
    const all = policySetsOf(place).flatMap((set) => {
      if (addsUp) seen.clear()
      const isEarly = set.raw.phase === 'PreRouting'
      return policiesIn(set, this.#policies).filter((policy) => {
        const { field, path } = policy
        const first = seen.get(field)
        const name = String(path.at(inside === undefined ? -1 : -2))
        if (isEarly && inside === undefined) this.#report(path, PRE_ROUTING)
        if (first !== undefined && words.repeated !== undefined) this.#report(path, words.repeated(first))
        seen.set(field, name)
        checkValue?.(policy, this.#sources, this.#report)
        return !isEarly
      })
    })
    this.#policiesAt.set(place, all)
    return all
  }
}

const NONE: readonly PlacedPolicy[] = []

function placedPolicies(place: Placed, policies: BackendPolicies): readonly PlacedPolicy[] {
  if (place.raw.policies === undefined) return NONE
  return policySetsOf(place).flatMap((set) => policiesIn(set, policies))
}

function policiesIn({ raw, path }: Placed, { keys, inside }: BackendPolicies): PlacedPolicy[] {
  return Object.entries(keys).flatMap(([key, field]): PlacedPolicy[] => {
    const value = raw[key]
    if (value === undefined) return []
    if (inside === undefined) return [{ field, value, path: [...path, key] }]
    const part = typeof value === 'object' && value !== null ? Reflect.get(value, inside) : undefined
    return part === undefined ? [] : [{ field, value, path: [...path, key, inside] }]
  })
}

function writtenRoutes(tree: ConfigTree): Placed[] {
  return tree.binds.filter(({ shortcut }) => shortcut === null).flatMap((bind) => routesOf({ ...tree, binds: [bind] }))
}

/** Backends by name, and references to backends. */
function backendPlaces(tree: ConfigTree): Placed[] {
  return [...tree.backends, ...routesOf(tree).flatMap(({ references }) => references)]
}

function shortcutsOf({ shortcuts }: ConfigTree) {
  return shortcuts.map(({ shortcut, value }) => ({ config: shortcut.config, value }))
}

/** Places inside backends where such policies may stand. */
function partsOf(tree: ConfigTree, policies: BackendPolicies): Placed[] {
  return [...backendsOf(tree), ...shortcutsOf(tree)].flatMap(({ config, value }) => {
    const parts = config?.parts
    if (parts === undefined) return []
    const isChecked = policies.actsOnAll || policies.inside !== undefined || parts.policies.includes(policies)
    return isChecked ? parts.places(value) : []
  })
}
