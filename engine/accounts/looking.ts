/**
 * Keys of a configuration that is looked at: who a client is, what it may use, and what counts its calls. Nothing is
 * counted. Where a gateway runs, limits and budgets are judged by what it has used of them; elsewhere all pass.
 */
import { hash } from 'node:crypto'
import {
  type AccountRefusal,
  type Accounts,
  type AccountsSpec,
  type BudgetSpec,
  KEY_USE,
  type Key,
  type KeySpec,
  type KeyUse,
  type RateSpec
} from '#engine/contract/accounts.ts'
import type { Buckets } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Picos } from '#engine/kit/money.ts'
import { reveal } from '#engine/kit/secret.ts'
import { limitSpecOf, rateText } from './account.ts'
import { keyRefusal } from './account-book.ts'
import { Allowed } from './allowed.ts'
import { budgetId } from './budget-id.ts'
import { budgetText } from './budget-report.ts'
import { type AccountEntry, accountEntries, accountsOfKey, claimsOf } from './entries.ts'
import type { BudgetStates } from './ledger.ts'
import { ModelNames } from './model-names.ts'
import { partMs, periodAt } from './periods.ts'
import { overRate, ownerText, UNKNOWN_PRICE, usedUp } from './refusals.ts'

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
  /** Null: nobody knows what is used. */
  readonly judged: Judged | null
}

/** What a gateway that runs has used of limits and budgets. */
export interface Judge {
  readonly budgets: BudgetStates
  /** Nothing is taken of them; null: limits are kept at a server. */
  readonly buckets: Buckets | null
  /** Milliseconds since 1970. */
  readonly now: number
  /** ISO 4217. */
  readonly currency: string
}

export interface Judged {
  /** Requests or tokens; null: it is not known. */
  readonly leftOfRate: (account: string, rate: RateSpec) => number | null
  /** Nanos. */
  readonly leftOfBudget: (account: string, budget: BudgetSpec) => bigint
}

/** `made`: by the API, beside those of the configuration. */
export function lookingAccounts(
  { keys, teams, organisations }: AccountsSpec,
  globals: ReadonlySet<string>,
  made: readonly KeySpec[],
  judge: Judge | null = null
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
        const use = new LookedUse({ spec, organisation, accounts }, allowsUnknownPrice, judge)
        KEY_USE.set(ex, use)
        return use.begin()
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
  readonly #judge: Judge | null
  readonly #left = new Map<RateSpec, number>()
  #model: LookedKey['model'] = null
  #setAside: LookedKey['setAside'] = null

  constructor(
    key: Pick<LookedKey, 'spec' | 'organisation' | 'accounts'>,
    allowsUnknownPrice: boolean,
    judge: Judge | null
  ) {
    this.#judge = judge
    this.#key = key
    this.#allowed = new Allowed(
      key.accounts.map(({ spec: { models, budgets, concurrency } }) => {
        return { models: models === null ? null : new ModelNames(models), budgets, concurrency }
      })
    )
    this.#allowsUnknownPrice = allowsUnknownPrice
  }

  get look(): LookedKey {
    const judge = this.#judge
    const judged = judge && {
      leftOfRate: (_: string, rate: RateSpec) => this.#left.get(rate) ?? null,
      leftOfBudget: (account: string, budget: BudgetSpec) => stateOf(judge, account, budget).left
    }
    return { ...this.#key, model: this.#model, setAside: this.#setAside, judged }
  }

  /** As the call of a gateway that runs, but that requests at a time are not known. */
  begin(): AccountRefusal | null {
    const buckets = this.#judge?.buckets ?? null
    if (buckets === null) return null
    let refusal: AccountRefusal | null = null
    for (const { id, spec } of this.#key.accounts) {
      for (const rate of spec.limits) {
        const limit = buckets.limit(limitSpecOf(rate))
        const taken = rate.kind === 'requests' ? 1 : 0
        const left = limit.take(id, 1, taken)
        this.#left.set(rate, Math.max(left < 0 ? 0 : left + taken, 0))
        if (left < 0) refusal ??= overRate(id, rateText(rate), Math.max(1, Math.ceil(limit.waitMs / 1_000)))
      }
    }
    return refusal
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
    if (picos === null && !this.#allowsUnknownPrice) return UNKNOWN_PRICE
    return this.#judge === null ? null : this.#overBudget(this.#judge)
  }

  /** What does not fit passes as well where anything is left, one call at a time. */
  #overBudget(judge: Judge): AccountRefusal | null {
    for (const { id, spec } of this.#key.accounts) {
      for (const budget of spec.budgets) {
        const { left, ...state } = stateOf(judge, id, budget)
        if (left > 0n) continue
        const { period } = budget
        const row = {
          text: budgetText(budget, judge.currency),
          partMs: typeof period === 'number' ? partMs(period) : null
        }
        return usedUp(ownerText(id), row, state, judge.now)
      }
    }
    return null
  }

  settle(): void {}
}

function stateOf({ budgets, now, currency }: Judge, account: string, budget: BudgetSpec) {
  const state = budgets.get(budgetId(account, budget, currency))
  const limit = BigInt(budget.amount)
  const { used, spent, end } = state ?? { used: 0n, spent: 0n, end: periodAt(budget, now).end }
  return { limit, spent, end, left: limit - used }
}

const hasModel = (names: readonly string[], model: string): boolean => new ModelNames(names).has(model)
