/** Budgets for people. */
import type { BudgetSpec } from '#engine/contract/accounts.ts'
import { decimalText, NANO_PLACES } from '#engine/kit/money.ts'
import type { RowState } from './books.ts'
import { rollingMsOf } from './budget-id.ts'
import { spanText } from './periods.ts'
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

/** "10 USD per month", "0.5 USD in 24h". */
export function budgetText({ amount, period, timeZone }: BudgetSpec, currency: string): string {
  const money = `${decimalText(amount, NANO_PLACES)} ${currency}`
  if (typeof period === 'number') return `${money} in ${spanText(period)}`
  if (period === 'Total') return `${money} in all`
  return `${money} per ${period.toLowerCase()}${timeZone === 'UTC' ? '' : `, ${timeZone}`}`
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
