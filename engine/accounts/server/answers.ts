/** Answers of a server to single questions (those to batches: applied.ts): what is none must not become money. */
import type { BudgetState } from './operations.ts'

const AMOUNT = /^-?\d{1,40}$/
const WHOLE = /^\d{1,16}$/
/** What Date can show. */
const TIME_MAX = 8.64e15

/** Of the command `what`: a whole number from 0 on, as a number or as text. Throws where `value` is none. */
export function readWhole(value: unknown, what: string): number {
  const number = isText(value) && WHOLE.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) throw unreadable(what)
  return number
}

/** Texts of whole nanos, and milliseconds since 1970. Throws where they are none. */
export function readBudget(used: unknown, spent: unknown, end: unknown): BudgetState {
  const endMs = readWhole(end, 'budgets')
  if (!isText(used) || !AMOUNT.test(used) || !isText(spent) || !AMOUNT.test(spent) || endMs > TIME_MAX)
    throw unreadable('budgets')
  return { used: BigInt(used), spent: BigInt(spent), end: endMs }
}

/** Pairs of texts. Throws where they are none: a list that is taken for empty would revoke every key. */
export function readKeys(pairs: readonly (readonly [name: unknown, value: unknown])[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (!isText(name) || !isText(value)) throw unreadable('keys')
    keys.set(name, value)
  }
  return keys
}

const isText = (value: unknown): value is string => typeof value === 'string'

export const unreadable = (what: string): Error => new Error(`what it answers to ${what} cannot be read`)
