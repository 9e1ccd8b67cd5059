/** What can be wrong with a message of HTTP/1, as llhttp-parser.ts tells it. */
import { OVERFLOW_FIELDS, OVERFLOW_TARGET } from './header-table.ts'

export const FAULT_NONE = 0
export const FAULT_SYNTAX = 1 // anything llhttp refuses
export const FAULT_METHOD = 2
export const FAULT_VERSION = 3
export const FAULT_FRAMING = 4 // length, coding or chunk errors
export const FAULT_HEADERS = 5 // too many, or too large
export const FAULT_URI = 6
export const FAULT_REFUSED = 7 // onHead refused it

/** `what`: OVERFLOW of header-table.ts. */
export function overflowOf(what: number): number {
  if (what === OVERFLOW_FIELDS) return FAULT_HEADERS
  return what === OVERFLOW_TARGET ? FAULT_URI : FAULT_NONE
}

/** llhttp's error numbers, by what they mean for the reply. */
export function faultOf(errno: number): number {
  switch (errno) {
    case 6: // INVALID_METHOD
      return FAULT_METHOD
    case 9: // INVALID_VERSION
    case 23: // PAUSED_H2_UPGRADE: the preface of HTTP/2
      return FAULT_VERSION
    case 4: // UNEXPECTED_CONTENT_LENGTH
    case 11: // INVALID_CONTENT_LENGTH
    case 12: // INVALID_CHUNK_SIZE
    case 15: // INVALID_TRANSFER_ENCODING
      return FAULT_FRAMING
    default:
      return FAULT_SYNTAX
  }
}
