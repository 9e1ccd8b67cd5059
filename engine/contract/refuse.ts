import type { ErrorCode } from './errors.ts'
import type { Detail, Exchange, LocalReply } from './exchange.ts'
import { STOP, type Verdict } from './filter.ts'

/**
 * Ends the exchange with the local reply of `code` (errors.ts). `headers`, flat: name, value, ..., are
 * added to that reply, whatever dialect it is written in. `detail`: for the log, never for the client (detail.ts).
 * For request hooks: `return refuse(ex, 'FORBIDDEN')`.
 */
export function refuse(
  ex: Exchange,
  code: ErrorCode,
  headers: readonly string[] | null = null,
  detail: Detail | null = null
): Verdict {
  // A hook that waited comes too late when a timeout has answered: that answer stays what it is.
  if (ex.response !== null) return STOP
  ex.error = code
  if (detail !== null) ex.errorDetail = detail
  ex.refusalHeaders = headers
  return STOP
}

/** Ends the exchange with `reply`. For request hooks: `return answer(ex, reply)`. `detail` as in `refuse`. */
export function answer(ex: Exchange, reply: LocalReply, detail: Detail | null = null): Verdict {
  if (ex.response !== null) return STOP
  ex.localReply = reply
  if (detail !== null) ex.errorDetail = detail
  return STOP
}
