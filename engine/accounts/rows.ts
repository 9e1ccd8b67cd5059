/** What the main thread tells workers of accounts: plain data, with the places that each has in the shared books. */
import type { BudgetSpec, KeyValue, RateSpec } from '#engine/contract/accounts.ts'
import type { Claims } from '#engine/contract/identity.ts'

export interface BudgetRow {
  /** In the journal. */
  readonly id: string
  /** In the books. */
  readonly place: number
  /** For clients: "10 USD per month". */
  readonly text: string
  /** Of a rolling budget: when something of it may be free again at the latest. Null: at the end of its period. */
  readonly partMs: number | null
  /** For books that other processes have too: its period is worked out for their clock. */
  readonly spec: BudgetSpec
}

export interface AccountRow {
  readonly id: string
  readonly budgets: readonly BudgetRow[]
  readonly limits: readonly RateSpec[]
  readonly concurrency: { readonly max: number; readonly number: number } | null
  readonly models: readonly string[] | null
}

export interface KeyRow {
  readonly name: string
  readonly values: readonly KeyValue[]
  /** Ids of the key's own account, its team's, its organisation's. */
  readonly accounts: readonly string[]
  readonly claims: Claims
  readonly expiresAt: number | null
  readonly isRevoked: boolean
  readonly isGlobal: boolean
}

/** Accounts before keys: a key finds what it needs. */
export interface AccountChanges {
  readonly accounts: readonly AccountRow[]
  readonly keys: readonly KeyRow[]
  readonly goneAccounts: readonly string[]
  readonly goneKeys: readonly string[]
  /** False: keys of the API have not come yet. */
  readonly isComplete: boolean
}
