/**
 * Keys of a configuration that is looked at: who a client is, what it may use, and what counts its calls. Nothing is
 * counted, so limits and budgets let all pass.
 */
import { hash } from 'node:crypto'
import {
  type AccountRefusal,
  type Accounts,
  type AccountsSpec,
  KEY_USE,
  type Key,
  type KeySpec,
  type KeyUse
} from '#engine/contract/accounts.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Picos } from '#engine/kit/money.ts'
import { reveal } from '#engine/kit/secret.ts'
import { keyRefusal } from './account-book.ts'
import { Allowed } from './allowed.ts'
import { type AccountEntry, accountEntries, accountsOfKey, claimsOf } from './entries.ts'
import { ModelNames } from './model-names.ts'
import { UNKNOWN_PRICE } from './refusals.ts'

/** A key that a client has shown, and what is known of it without asking what is used. */
export interface LookedKey {
  readonly spec: KeySpec
  /** Its own, or that of its team. */
  readonly organisation: string | null
  /** Its own first, then those of its team and its organisation. */
  readonly accounts: readonly AccountEntry[]
  /** The model that was asked for, by the client's name, and the accounts that do not allow it; null: none was. */
  readonly model: { readonly name: string; readonly refusedBy: readonly string[] } | null
  /** What would be set aside for the attempt; 'unknown': it has no price; null: nothing is. */
  readonly setAside: Picos | 'unknown' | null
}

/** `made`: by the API, beside those of the configuration. */
export function lookingAccounts(
  { keys, teams, organisations }: AccountsSpec,
  globals: ReadonlySet<string>,
  made: readonly KeySpec[]
): Accounts {
  const all = [...keys, ...made]
  const entries = new Map(accountEntries({ keys: all, teams, organisations }).map((entry) => [entry.id, entry]))
  const teamsByName = new Map(teams.map((team) => [team.name, team]))
  const known = new Map<string, Key>()
  for (const spec of all) {
    const { name, values } = spec
    const { ids, organisation } = accountsOfKey(spec, teamsByName)
    const accounts = ids.flatMap((id) => entries.get(id) ?? [])
    // Its team is gone, and its limits with it: a gateway does not take it either.
    if (accounts.length < ids.length) continue
    const key: Key = {
      name,
      claims: claimsOf(spec, organisation),
      isGlobal: globals.has(name) || made.includes(spec),
      refusal: (nowMs) => keyRefusal(spec, nowMs),
      begin: (ex, { allowsUnknownPrice }) => {
        KEY_USE.set(ex, new LookedUse({ spec, organisation, accounts }, allowsUnknownPrice))
        return null
      }
    }
    for (const value of values) known.set(reveal(value.hash), key)
  }
  const find = (shown: string) => known.get(hash('sha256', Buffer.from(shown, 'latin1')))
  return { find, size: all.length, isComplete: true }
}

/** Null: its client has shown none. */
export function lookedKey(ex: Exchange): LookedKey | null {
  const use = ex.slots === null ? null : KEY_USE.get(ex)
  return use instanceof LookedUse ? use.look : null
}

class LookedUse implements KeyUse {
  isModelChecked = false
  readonly reserved = null
  readonly #key: Pick<LookedKey, 'spec' | 'organisation' | 'accounts'>
  readonly #allowed: Allowed
  readonly #allowsUnknownPrice: boolean
  #model: LookedKey['model'] = null
  #setAside: LookedKey['setAside'] = null

  constructor(key: Pick<LookedKey, 'spec' | 'organisation' | 'accounts'>, allowsUnknownPrice: boolean) {
    this.#key = key
    this.#allowed = new Allowed(
      key.accounts.map(({ spec: { models, budgets, concurrency } }) => {
        return { models: models === null ? null : new ModelNames(models), budgets, concurrency }
      })
    )
    this.#allowsUnknownPrice = allowsUnknownPrice
  }

  get look(): LookedKey {
    return { ...this.#key, model: this.#model, setAside: this.#setAside }
  }

  get hasBudget(): boolean {
    return this.#allowed.hasBudget
  }

  get isRestricted(): boolean {
    return this.#allowed.isRestricted
  }

  get modelNames(): readonly string[] {
    return this.#allowed.modelNames
  }

  mayUse(name: string): boolean {
    // Lists of models ask for each that there is, before any is checked.
    if (this.isModelChecked) {
      const refusing = this.#key.accounts.filter(({ spec }) => spec.models !== null && !hasModel(spec.models, name))
      this.#model = { name, refusedBy: refusing.map(({ id }) => id) }
    }
    return this.#allowed.mayUse(name)
  }

  reserve(picos: Picos | null): AccountRefusal | null {
    this.#setAside = picos ?? 'unknown'
    return picos === null && !this.#allowsUnknownPrice ? UNKNOWN_PRICE : null
  }

  settle(): void {}
}

const hasModel = (names: readonly string[], model: string): boolean => new ModelNames(names).has(model)
