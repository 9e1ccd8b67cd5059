/** Budgets for people. */
import { decimalText, NANO_PLACES } from '#engine/kit/money.ts'
import type { RowState } from './books.ts'
import { rollingMsOf } from './budget-id.ts'
import type { BudgetRow } from './rows.ts'

/** What people are shown of a budget: decimal texts of the currency. */
export interface BudgetReport {
  readonly account: string
  readonly period: string
  readonly amount: string
  readonly spent: string
  readonly reserved: string
  /** ISO time; null: it does not begin anew. */
  readonly resetsAt: string | null
}

export function reportOf(
  account: string,
  { id, text }: BudgetRow,
  { spent, used, limit, end }: Pick<RowState, 'spent' | 'used' | 'limit' | 'end'>
): BudgetReport {
  const amount = (nanos: bigint) => decimalText(nanos, NANO_PLACES)
  const resetsAt = rollingMsOf(id) !== null || end > 8e15 ? null : new Date(end).toISOString()
  const money = { amount: amount(limit), spent: amount(spent), reserved: amount(used - spent) }
  return { account, period: text.replace(/^\S+ \S+ /, ''), ...money, resetsAt }
}
