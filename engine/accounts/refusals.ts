/** Why a call is not made, for its client. */
import type { AccountRefusal } from '#engine/contract/accounts.ts'
import type { RowState } from './books.ts'
import type { BudgetRow } from './rows.ts'

export const UNKNOWN_PRICE: AccountRefusal = {
  code: 'PRICE_UNKNOWN',
  message: 'the key has a budget, and what this call costs is not known: there is no price for the model',
  retryAfterS: null
}

export const UNWRITTEN: AccountRefusal = {
  code: 'BUDGET_UNAVAILABLE',
  message: 'what this call costs cannot be written down at the moment',
  retryAfterS: 1
}

export const UNREACHABLE: AccountRefusal = {
  code: 'BUDGET_UNAVAILABLE',
  message: 'limits and budgets cannot be looked up at the moment',
  retryAfterS: 1
}

/** "team ml" of "team/ml". */
export const ownerText = (id: string): string => id.replace('/', ' ')

/** `id`: of the account. */
export function overConcurrency(id: string, max: number): AccountRefusal {
  const message = `${ownerText(id)} has ${max} requests under way, which is as many as may be at a time`
  return { code: 'CONCURRENCY_LIMITED', message, retryAfterS: SOON_S }
}

/** `text`: "100 requests per 60s". */
export function overRate(id: string, text: string, resetS: number): AccountRefusal {
  return { code: 'RATE_LIMITED', message: `the limit of ${ownerText(id)}, ${text}, is reached`, retryAfterS: resetS }
}

/** What others have set aside may come back at any time. */
const SOON_S = 1
/** Longer waits are those of a budget that does not begin anew. */
const WAIT_MAX_MS = 366 * 86_400_000

/** `owner`: "team ml". */
export function usedUp(
  owner: string,
  { text, partMs }: Pick<BudgetRow, 'text' | 'partMs'>,
  state: Pick<RowState, 'spent' | 'limit' | 'end'>,
  now: number
): AccountRefusal {
  const name = `the budget of ${owner} (${text})`
  if (state.spent < state.limit) {
    const message = `${name} has no room at the moment: what is left of it is set aside for calls that are under way`
    return { code: 'BUDGET_EXCEEDED', message, retryAfterS: SOON_S }
  }
  if (partMs !== null) {
    const message = `${name} is used up; it gets room again bit by bit`
    return { code: 'BUDGET_EXCEEDED', message, retryAfterS: Math.ceil(partMs / 1_000) }
  }
  if (state.end - now > WAIT_MAX_MS)
    return { code: 'BUDGET_EXCEEDED', message: `${name} is used up`, retryAfterS: null }
  const until = new Date(state.end).toISOString().replace('.000Z', 'Z')
  const message = `${name} is used up; it begins anew at ${until}`
  return { code: 'BUDGET_EXCEEDED', message, retryAfterS: Math.max(SOON_S, Math.ceil((state.end - now) / 1_000)) }
}
