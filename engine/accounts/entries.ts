/** Keys, teams and organisations as accounts: one list of all that have limits, and what expressions read of a key. */
import type { AccountSpec, AccountsSpec, KeySpec, TeamSpec } from '#engine/contract/accounts.ts'
import type { Claims } from '#engine/contract/identity.ts'
import { accountId } from './budget-id.ts'

export interface AccountEntry {
  readonly id: string
  readonly spec: Pick<AccountSpec, 'budgets' | 'limits' | 'concurrency' | 'models'>
}

export function accountEntries({ keys, teams, organisations }: AccountsSpec): AccountEntry[] {
  const entries = (level: 'key' | 'team' | 'organisation', all: readonly AccountSpec[]) =>
    all.map(({ name, budgets, limits, concurrency, models }): AccountEntry => {
      return { id: accountId(level, name), spec: { budgets, limits, concurrency, models } }
    })
  return [...entries('organisation', organisations), ...entries('team', teams), ...entries('key', keys)]
}

/** Ids of the accounts that the calls of a key count against, its own first. */
export function accountsOfKey(
  { name, team, organisation: own }: KeySpec,
  teams: ReadonlyMap<string, TeamSpec>
): { readonly ids: readonly string[]; readonly organisation: string | null } {
  const organisation = own ?? teams.get(team ?? '')?.organisation ?? null
  const ids = [accountId('key', name)]
  if (team !== null) ids.push(accountId('team', team))
  if (organisation !== null) ids.push(accountId('organisation', organisation))
  return { ids, organisation }
}

/** `apiKey` of expressions. Metadata stands beside the rest, and cannot say otherwise than it. */
export function claimsOf({ name, owner, team, tags, metadata }: KeySpec, organisation: string | null): Claims {
  return {
    ...metadata,
    id: name,
    name,
    ...(owner === null ? {} : { owner }),
    ...(team === null ? {} : { team }),
    ...(organisation === null ? {} : { organisation }),
    tags
  }
}
