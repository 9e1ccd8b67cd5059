/**
 * A header field as HPACK knows it, and what its name means to HTTP/2. Names and values are judged once, when the
 * field is made: a field of the tables is used a thousand times.
 */
import { TRACE_HEADER } from '#engine/http/trace-header.ts'

/** What a field is. Pseudo-header fields (RFC 9113 section 8.3) come before PSEUDO_END. */
export const METHOD = 0
export const SCHEME = 1
export const PATH = 2
export const AUTHORITY = 3
export const STATUS = 4
export const PROTOCOL = 5
export const PSEUDO_UNKNOWN = 6
export const PSEUDO_END = 7
export const ORDINARY = 7
export const COOKIE = 8
export const HOST = 9
export const CONTENT_LENGTH = 10
export const EXPECT = 11
/** Belongs to the next hop alone: it is not passed on. */
export const HOP = 12
export const TE = 13
/** Belongs to a connection: a message that has it is malformed (section 8.2.2). */
export const CONNECTION = 14
/** Its name or value is invalid: the message is malformed (section 8.2.1). */
export const FLAWED = 15
/** A token for the gateway itself (http/trace-header.ts): it is not passed on either. */
export const TRACE_TOKEN = 16

const KINDS: ReadonlyMap<string, number> = new Map([
  [':method', METHOD],
  [':scheme', SCHEME],
  [':path', PATH],
  [':authority', AUTHORITY],
  [':status', STATUS],
  [':protocol', PROTOCOL],
  ['cookie', COOKIE],
  ['host', HOST],
  ['content-length', CONTENT_LENGTH],
  ['expect', EXPECT],
  ['http2-settings', HOP],
  ['proxy-authenticate', HOP],
  ['proxy-authorization', HOP],
  [TRACE_HEADER, TRACE_TOKEN],
  ['te', TE],
  ['connection', CONNECTION],
  ['keep-alive', CONNECTION],
  ['proxy-connection', CONNECTION],
  ['transfer-encoding', CONNECTION],
  ['upgrade', CONNECTION]
])

/** Token of RFC 9110 section 5.6.2, without capitals. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
/** Control characters, and blanks at either end: what the parser of HTTP/1 refuses or takes away. */
const VALUE_FLAW = /[\0-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/

/** Counted for every field beside its name and value (RFC 7541 section 4.1). */
export const FIELD_OVERHEAD = 32

export class Field {
  readonly name: string
  readonly value: string
  readonly kind: number
  /** Latin1: one byte per character. */
  readonly size: number

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.kind = kindOf(name, value)
    this.size = name.length + value.length + FIELD_OVERHEAD
  }
}

function kindOf(name: string, value: string): number {
  if (VALUE_FLAW.test(value)) return FLAWED
  const kind = KINDS.get(name)
  if (kind !== undefined) return kind
  if (name.charCodeAt(0) === 58) return PSEUDO_UNKNOWN
  return NAME.test(name) ? ORDINARY : FLAWED
}
