import type { ErrorCode } from './errors.ts'
import type { Exchange, LocalReply } from './exchange.ts'
import { STOP, type Verdict } from './filter.ts'

/**
 * Ends the exchange with the local reply of `code` (errors.ts). `headers`, flat: name, value, ..., are
 * added to that reply, whatever dialect it is written in. For request hooks: `return refuse(ex, 'FORBIDDEN')`.
 */
export function refuse(ex: Exchange, code: ErrorCode, headers: readonly string[] | null = null): Verdict {
  // A hook that waited comes too late when a timeout has answered: that answer stays what it is.
  if (ex.response !== null) return STOP
  ex.error = code
  ex.refusalHeaders = headers
  return STOP
}

/** Ends the exchange with `reply`. For request hooks: `return answer(ex, reply)`. */
export function answer(ex: Exchange, reply: LocalReply): Verdict {
  if (ex.response === null) ex.localReply = reply
  return STOP
}
