/** Answers of a server to a batch: what is none must not become a number of the books. */
import type { Answer, Applied, Operation } from './operations.ts'

const AMOUNT = /^-?\d{1,40}$/

/** Throws where `value` is no answer to `operations`. */
export function readApplied(value: unknown, operations: readonly Operation[]): Applied {
  const { now, fresh, answers } = objectOf(value)
  // Of the servers none counts from another year than 1970, and no clock is behind 2001.
  if (!isTime(now) || now < 1e12 || typeof fresh !== 'boolean' || !Array.isArray(answers)) throw unreadable()
  const all = answers as readonly unknown[]
  return { now, fresh, answers: operations.map((operation, i) => readAnswer(all[i] ?? null, operation)) }
}

function readAnswer(answer: unknown, operation: Operation): Answer {
  if (answer === null || (operation[0] !== 'begin' && operation[0] !== 'reserve')) return null
  if (!Array.isArray(answer) || !isAnswer(answer, operation)) throw unreadable()
  return answer as unknown as Answer
}

function isAnswer([kind, ...rest]: readonly unknown[], operation: Operation): boolean {
  if (operation[0] === 'begin') {
    const [, , accounts, buckets] = operation
    if (kind === 1) return rest.length === 2 && rest.every(isNumbers)
    const [by, index, waitMs] = rest
    const count = by === 'account' ? accounts.length : by === 'bucket' ? buckets.length : 0
    return kind === 0 && isIndex(index, count) && isTime(waitMs)
  }
  if (operation[0] !== 'reserve') return false
  if (kind === 1 || kind === 2) return true
  const [index, spent, end] = rest
  return kind === 0 && isIndex(index, operation[3].length) && AMOUNT.test(String(spent)) && isTime(end)
}

/** An empty list of Lua is an object. */
const isNumbers = (list: unknown): boolean =>
  Array.isArray(list) ? list.every((one) => typeof one === 'number') : Object.keys(objectOf(list)).length === 0

const isIndex = (value: unknown, count: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < count

/** What Date can show. */
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 8.64e15

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw unreadable()
  return value as Readonly<Record<string, unknown>>
}

const unreadable = () => new Error('what it answers to a batch cannot be read')
