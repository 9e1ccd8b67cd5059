/** An account as a worker has it, and what calls of its keys work with. */
import type { RateSpec } from '#engine/contract/accounts.ts'
import type { Limit, LimitSpec } from '#engine/contract/buckets.ts'
import type { Books } from './books.ts'
import type { JournalWriter } from './journal/writer.ts'
import type { ModelNames } from './model-names.ts'
import type { AccountRow, BudgetRow } from './rows.ts'
import type { ServerBooks } from './server/client.ts'

/** What calls work with. */
export interface CallParts {
  readonly books: Books
  /** From 0 on. */
  readonly worker: number
  /** Null: the books begin anew with the process. */
  readonly journal: JournalWriter | null
  /** Null: what `books` has is all there is. */
  readonly server: ServerBooks | null
  /** Milliseconds since 1970. */
  readonly wallNow: () => number
}

export interface Rate {
  readonly kind: 'requests' | 'tokens'
  readonly spec: RateSpec
  readonly limit: Limit
  /** For people: "100 requests per 60s". */
  readonly text: string
}

export interface Account {
  readonly id: string
  readonly budgets: readonly BudgetRow[]
  readonly rates: readonly Rate[]
  readonly concurrency: AccountRow['concurrency']
  readonly models: ModelNames | null
}

/** One for all accounts with equal numbers. */
export const limitSpecOf = ({ kind, amount, burst, unitMs }: RateSpec): LimitSpec => {
  return { id: `account ${kind}`, amount, burst, unitMs, isKeyed: true }
}

/** "100 requests per 60s". */
export const rateText = ({ kind, amount, unitMs }: RateSpec): string => `${amount} ${kind} per ${unitMs / 1_000}s`
