/** The accounts of a configuration, wherever in it keys stand. */
import type { AccountsSpec, KeySpec } from '#engine/contract/accounts.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { PolicySet, Snapshot } from '#engine/ir/snapshot.ts'

export const NO_ACCOUNT_SPECS: AccountsSpec = { keys: [], teams: [], organisations: [] }

/** With the keys that stand in policies. */
export interface FoundAccounts {
  readonly spec: AccountsSpec
  /** Names of keys that are valid wherever keys are asked for. */
  readonly globals: ReadonlySet<string>
  /** Names that two keys have: that of the policy is left out. */
  readonly doubles: readonly string[]
}

export type Configured = Pick<Snapshot, 'accounts' | 'gateway' | 'binds'>

export function accountsIn(
  { accounts = NO_ACCOUNT_SPECS, ...snapshot }: Configured,
  policies: readonly Policy[]
): FoundAccounts {
  const globals = new Set(accounts.keys.map(({ name }) => name))
  const own = new Map<string, KeySpec>()
  for (const set of policySetsOf(snapshot)) {
    for (const { name, keysOf } of policies) {
      if (keysOf === undefined || set[name] === undefined) continue
      for (const key of keysOf(set[name] as never)) own.set(key.name, key)
    }
  }
  const more = [...own.values()].filter(({ name }) => !globals.has(name))
  const doubles = [...own.keys()].filter((name) => globals.has(name))
  return { spec: more.length === 0 ? accounts : { ...accounts, keys: [...accounts.keys, ...more] }, globals, doubles }
}

function* policySetsOf({ gateway, binds }: Omit<Configured, 'accounts'>): Iterable<PolicySet> {
  yield gateway.policies
  yield gateway.preRouting
  for (const { listeners } of binds) {
    for (const { policies, preRouting, routes } of listeners) {
      yield policies
      yield preRouting
      for (const route of routes) yield route.policies
    }
  }
}
