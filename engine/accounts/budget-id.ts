/**
 * Names of budgets in the journal and at a state server: the account, the period and the currency, so that nothing that
 * was spent in dollars is taken for euros. Not the amount, so that more money does not forget what is spent. Names of
 * accounts and zones have no blanks.
 */
import type { BudgetSpec } from '#engine/contract/accounts.ts'
import { CATALOGUE_CURRENCY } from '#engine/contract/price-list.ts'

export type Level = 'key' | 'team' | 'organisation'

export const accountId = (level: Level, name: string): string => `${level}/${name}`

/** No account has two budgets with one id. `currency`: ISO 4217. */
export function budgetId(account: string, { period, timeZone, startsAt }: BudgetSpec, currency: string): string {
  const unit = currency === CATALOGUE_CURRENCY ? '' : ` ${currency}`
  if (typeof period === 'number') return `${account} ${period}ms${unit}`
  const of = period === 'Total' ? 'Total' : `${period} ${timeZone} ${startsAt ?? '-'}`
  return `${account} ${of}${unit}`
}

/** Milliseconds of a rolling budget; null: it is none. */
export function rollingMsOf(id: string): number | null {
  const ms = /^\S+ (\d{1,15})ms(?: [A-Z]{3})?$/.exec(id)?.[1]
  return ms === undefined ? null : Number(ms)
}
