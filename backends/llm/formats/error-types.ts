/** What kind of error a status stands for, and the other way round, where nothing says more. */
import type { ErrorType } from '#backends/llm/conversation.ts'

const ROWS: readonly (readonly [type: ErrorType, status: number, ...others: number[]])[] = [
  ['invalidRequest', 400],
  ['authentication', 401],
  ['quota', 402],
  ['permission', 403],
  ['notFound', 404],
  ['tooLarge', 413],
  ['rateLimit', 429],
  ['internal', 500],
  ['overloaded', 503, 529],
  ['timeout', 504, 408],
  ['filter', 400]
]

const BY_STATUS: ReadonlyMap<number, ErrorType> = new Map(
  [...ROWS].reverse().flatMap(([type, ...statuses]) => statuses.map((status) => [status, type] as const))
)
const BY_TYPE: ReadonlyMap<ErrorType, number> = new Map(ROWS.map(([type, status]) => [type, status]))

/** Undefined for the many that only say which side is at fault, and for 400 and 500, which are used for anything. */
export function knownType(status: number): ErrorType | undefined {
  return status === 400 || status === 500 ? undefined : BY_STATUS.get(status)
}

export function typeOfStatus(status: number): ErrorType {
  return BY_STATUS.get(status) ?? (status >= 400 && status < 500 ? 'invalidRequest' : 'internal')
}

export function statusOf(type: ErrorType): number {
  return BY_TYPE.get(type) ?? 500
}
