/** What policies allow and their author probably did not mean: in themselves, and together. */

import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import type { Policy, WarningContext } from '#engine/contract/policy.ts'
import { objectOf, type Placed, policySetsOf } from '#engine/schema/placed.ts'
import type { ZodType } from '#engine/schema/schema.ts'
import { attachedTo } from './check-policies.ts'
import { type PolicyKey, policyKeys } from './policies.ts'
import type { ConfigSchema } from './schema.ts'
import { type ConfigTree, type Finding, listenersOf } from './tree.ts'

/** For a configuration without mistakes. */
export function policyWarnings(
  tree: ConfigTree,
  policies: readonly Policy[],
  schema: ConfigSchema['policies'],
  around: WarningContext
): Finding[] {
  return new Doubts(tree, policies, schema, around).run()
}

const ADDRESS = 'destination.address'
const HOSTNAME = 'destination.hostname'

/** One key of a set, as it was read: with a thousand routes, reading all of them once more would be felt. */
interface PolicyEntry {
  readonly policy: Policy
  readonly set: Placed
  readonly key: string
  /** Of a frontend policy, which has no place in a set. */
  readonly schema?: ZodType
}

class Doubts {
  readonly #findings: Finding[] = []
  readonly #tree: ConfigTree
  readonly #policies: readonly Policy[]
  readonly #keys: readonly PolicyKey[]
  readonly #schema: ConfigSchema['policies']
  readonly #around: WarningContext

  constructor(tree: ConfigTree, policies: readonly Policy[], schema: ConfigSchema['policies'], around: WarningContext) {
    this.#tree = tree
    this.#around = around
    this.#schema = schema
    this.#policies = policies.filter(({ warnings, identifies, expressions }) => warnings ?? identifies ?? expressions)
    this.#keys = policyKeys(this.#policies)
  }

  run(): Finding[] {
    const top = this.#entriesAt(this.#tree.top)
    const listeners = listenersOf(this.#tree).map((listener) => ({
      own: this.#entriesAt(listener),
      routes: listener.routes.map((route) => this.#entriesAt(route))
    }))
    const frontend = this.#frontendEntries()
    const below = listeners.map(({ own, routes }) => [...own, ...routes.flat()])
    this.#doubt(top, below.flat())
    listeners.forEach(({ own, routes }, i) => {
      this.#doubt(own, [...top, ...below[i]!])
      for (const route of routes) this.#doubt(route, [...top, ...own])
    })
    this.#doubt(frontend, [...top, ...below.flat()])
    this.#doubtAddresses([...top, ...frontend])
    return this.#findings
  }

  #entriesAt(place: Placed): PolicyEntry[] {
    return policySetsOf(place).flatMap((set) => this.#inSet(set))
  }

  #inSet(set: Placed): PolicyEntry[] {
    return this.#keys.flatMap(({ key, policy }) => (set.raw[key] === undefined ? [] : [{ policy, set, key }]))
  }

  #frontendEntries(): PolicyEntry[] {
    const { config, frontendPolicies } = this.#tree.top.raw
    return this.#policies.flatMap((policy) => {
      const { name: key, section, schema, inConfig } = policy
      const places = [
        { set: { raw: objectOf(frontendPolicies), path: ['frontendPolicies'] }, schema },
        { set: { raw: objectOf(config), path: ['config'] }, schema: inConfig }
      ]
      if (section !== 'frontend') return []
      return places.flatMap(({ set, schema: known }) =>
        known === undefined || set.raw[key] === undefined ? [] : [{ policy, set, key, schema: known }]
      )
    })
  }

  /** `others`: what stands above or below `place`, and so may run before it for some request. */
  #doubt(place: readonly PolicyEntry[], others: readonly PolicyEntry[]): void {
    for (const entry of place) {
      const { policy } = entry
      const { warnings } = policy
      const config = warnings === undefined ? undefined : this.#configOf(entry)
      if (config !== undefined) for (const message of warnings!(config, this.#around)) this.#report(entry, message)
      if (policy.expressions !== undefined) this.#doubtIdentities(entry, [...place, ...others])
    }
  }

  /** Of binds whose transport does not say what a client has connected to. `everywhere`: what acts on all of them. */
  #doubtAddresses(everywhere: readonly PolicyEntry[]): void {
    const binds = this.#tree.binds.filter(({ transport }) => !transport.knowsDestination)
    if (binds.length === 0) return
    const { name } = binds[0]!.transport
    // Of an exact name it is known, because the listener is.
    const unnamed = binds
      .flatMap(({ listeners }) => listeners)
      .filter(({ raw }) => raw.protocol === 'HTTPS' && (raw.hostname ?? '*') === '*')
    for (const entry of unnamed.flatMap((one) => [one, ...one.routes]).flatMap((place) => this.#entriesAt(place))) {
      if (!this.#reads(entry, HOSTNAME)) continue
      const lack = `which transport ${name} does not know on a listener of every host`
      this.#report(entry, `reads ${HOSTNAME}, ${lack}: use node`)
    }
    const places = binds.flatMap(({ listeners }) => listeners.flatMap((one) => [one, ...one.routes]))
    for (const entry of [...everywhere, ...places.flatMap((place) => this.#entriesAt(place))]) {
      if (!this.#reads(entry, ADDRESS)) continue
      this.#report(entry, `reads ${ADDRESS}, which is never there on a bind with transport ${name}: use node`)
    }
  }

  #reads({ policy, set, key }: PolicyEntry, variable: string): boolean {
    if (policy.expressions === undefined || !JSON.stringify(set.raw[key]).includes('destination')) return false
    const config = this.#configOf({ policy, set, key })
    const sources = config === undefined ? [] : policy.expressions(config)
    return sources.some((source) => compileExpression(source, LOG_ROOTS).needs.reads(variable))
  }

  #doubtIdentities(entry: PolicyEntry, all: readonly PolicyEntry[]): void {
    const identities = new Set(this.#policies.flatMap(({ identifies }) => identifies ?? []))
    for (const identifies of identities) {
      if (all.some(({ policy }) => policy.identifies === identifies)) continue
      if (!JSON.stringify(entry.set.raw[entry.key]).includes(identifies)) continue
      const config = this.#configOf(entry)
      const sources = config === undefined ? [] : entry.policy.expressions!(config)
      if (!sources.some((source) => compileExpression(source, LOG_ROOTS).needs.reads(identifies))) continue
      this.#report(entry, `reads ${identifies}, which is never there without ${this.#findersOf(identifies)}`)
    }
  }

  #findersOf(identity: string): string {
    const names = this.#policies.flatMap(({ identifies, name }) => (identifies === identity ? [name] : []))
    return names.toSorted().join(' or ')
  }

  #configOf({ policy, set, key, schema }: PolicyEntry): never | undefined {
    if (schema !== undefined) return schema.safeParse(set.raw[key]).data as never | undefined
    const keys = this.#keys.filter((known) => known.key === key)
    return attachedTo([set], keys, this.#schema).policies[policy.name] as never | undefined
  }

  #report({ set, key }: PolicyEntry, message: string): void {
    this.#findings.push({ path: [...set.path, key], message, at: 'key' })
  }
}
