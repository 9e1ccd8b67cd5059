import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { STOP, type Verdict } from './filter.ts'

/**
 * Ends the exchange with the local reply of `code` (errors.ts). `headers`, flat: name, value, ..., are
 * added to that reply, whatever dialect it is written in. For hooks: `return refuse(ex, 'FORBIDDEN')`.
 */
export function refuse(ex: Exchange, code: ErrorCode, headers: readonly string[] | null = null): Verdict {
  ex.error = code
  ex.refusalHeaders = headers
  return STOP
}
