import { ERRORS, type ErrorCode } from './errors.ts'
import type { Detail, Exchange, LocalReply } from './exchange.ts'
import { STOP, type Verdict } from './filter.ts'
import { Slot } from './slot.ts'

const CONFIGURED = new Slot<{ readonly code: ErrorCode; readonly status: number }>()

/** A refusal of `ex` with `code` has this status instead of that of the table: the configuration says so. */
export function setRefusalStatus(ex: Exchange, code: ErrorCode, status: number): void {
  CONFIGURED.set(ex, { code, status })
}

/** The status of a refusal with `code`. */
export function refusalStatus(ex: Exchange, code: ErrorCode): number {
  const configured = ex.slots === null ? null : CONFIGURED.get(ex)
  return configured?.code === code ? configured.status : ERRORS[code].status
}

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
