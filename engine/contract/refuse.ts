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

const WORDS = new Slot<{ readonly code: ErrorCode; readonly message: string }>()

/**
 * A refusal of `ex` with `code` says `message` to its client instead of the text of the table, and `code` as well where
 * errors of the client's format have one. Nothing that a client has sent.
 */
export function setRefusalMessage(ex: Exchange, code: ErrorCode, message: string): void {
  WORDS.set(ex, { code, message })
}

/** What a refusal with `code` says; `code` is null where it is one of many that look alike. */
export function refusalMessage(
  ex: Exchange,
  code: ErrorCode
): { readonly message: string; readonly code: string | null } {
  const own = ex.slots === null ? null : WORDS.get(ex)
  return own?.code === code ? own : { message: ERRORS[code].message, code: null }
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
