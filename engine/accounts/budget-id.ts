/**
 * Names of budgets in the journal: the account and the period, not the amount, so that more money does not forget
 * what is
 * spent. Names of accounts and zones have no blanks.
 */
import type { BudgetSpec } from '#engine/contract/accounts.ts'

export type Level = 'key' | 'team' | 'organisation'

export const accountId = (level: Level, name: string): string => `${level}/${name}`

/** No account has two budgets with one id. */
export function budgetId(account: string, { period, timeZone, startsAt }: BudgetSpec): string {
  if (typeof period === 'number') return `${account} ${period}ms`
  return period === 'Total' ? `${account} Total` : `${account} ${period} ${timeZone} ${startsAt ?? '-'}`
}

/** Milliseconds of a rolling budget; null: it is none. */
export function rollingMsOf(id: string): number | null {
  const ms = /^\S+ (\d{1,15})ms$/.exec(id)?.[1]
  return ms === undefined ? null : Number(ms)
}
