/**
 * Keys of a configuration that is looked at: who a client is. Nothing is counted, so limits and budgets let all pass.
 */
import type { Accounts, Key, KeySpec } from '#engine/contract/accounts.ts'
import { reveal } from '#engine/kit/secret.ts'
import { keyRefusal } from './account-book.ts'
import { claimsOf } from './entries.ts'

/** `made`: by the API, beside those of the configuration. */
export function lookingAccounts(
  keys: readonly KeySpec[],
  globals: ReadonlySet<string>,
  made: readonly KeySpec[]
): Accounts {
  const known = new Map<string, Key>()
  for (const spec of [...keys, ...made]) {
    const { name, values, organisation } = spec
    const key: Key = {
      name,
      claims: claimsOf(spec, organisation),
      isGlobal: globals.has(name) || made.includes(spec),
      refusal: (nowMs) => keyRefusal(spec, nowMs),
      begin: () => null
    }
    for (const { hash } of values) known.set(reveal(hash), key)
  }
  return { find: (hash) => known.get(hash), size: keys.length + made.length, isComplete: true }
}
