/**
 * The id of an exchange: the client's, or one that is made on first use: by a line of the log, a refusal, an
 * expression, a header. An exchange whose id is not read has none, and pays nothing.
 */
import { randomBytes } from 'node:crypto'
import { Slot, type SlotEntry } from './slot.ts'

/** `frontendPolicies.http.requestId`. */
export interface RequestIdRules {
  /** The field in which clients send it, and backends and clients get it; in lower case. */
  readonly header: string
  /** A sane id of the client is kept. */
  readonly acceptFromClient: boolean
  readonly sendToBackend: boolean
  readonly sendToClient: boolean
}

export const REQUEST_ID_DEFAULTS: RequestIdRules = {
  header: 'x-request-id',
  acceptFromClient: true,
  sendToBackend: false,
  sendToClient: false
}

/** As much of an exchange as ids are about. */
export interface Identified {
  readonly request: { get(name: string): string | undefined }
  readonly listener: { readonly requestId?: RequestIdRules } | null
  slots: SlotEntry | null
}

/** Ids that were made, or came from elsewhere; one that the client sent is read where it stands. */
const KNOWN = new Slot<string>()

/** What a client may give for an id: it goes to logs, headers and JSON as it is. */
const SANE = /^[\w.:-]{1,128}$/

/** The same for every call with one exchange, unless a policy changes the client's own field in between. */
export function requestIdOf(ex: Identified): string {
  const known = ex.slots === null ? null : KNOWN.get(ex)
  if (known !== null) return known
  const { header, acceptFromClient } = ex.listener?.requestId ?? REQUEST_ID_DEFAULTS
  if (acceptFromClient) {
    const sent = ex.request.get(header)
    if (sent !== undefined && SANE.test(sent)) return sent
  }
  const made = makeId()
  // A view of an exchange (readAs) has no slots of its own: what is kept there is lost with it.
  KNOWN.set(Object.hasOwn(ex, 'slots') ? ex : (Object.getPrototypeOf(ex) as Identified), made)
  return made
}

/** The field that tells the client the id of its refusal: name and value. */
export function requestIdField(ex: Identified): readonly [name: string, id: string] {
  return [ex.listener?.requestId?.header ?? REQUEST_ID_DEFAULTS.header, requestIdOf(ex)]
}

/** `fields`, flat, of a reply that is not all the gateway's own, with the id of `ex` in place of any other. */
export function withRequestIdField(fields: readonly string[], ex: Identified): readonly string[] {
  const [name, id] = requestIdField(ex)
  return [...fields.filter((_, i) => fields[i - (i % 2)]!.toLowerCase() !== name), name, id]
}

/** For facts that have come from another thread. */
export function keepRequestId(ex: Pick<Identified, 'slots'>, id: string): void {
  KNOWN.set(ex, id)
}

// Random bytes for each id would cost a microsecond: they are drawn once a thread. What follows them is a count in an
// order that does not show how many requests there were (an odd factor reaches every number of 32 bits once).
const COUNT_BYTES = 4
const PREFIX_BYTES = 12
const FACTOR = 0x9e3779b1
/** `toString(16)` takes a microsecond for numbers beyond 31 bits. */
const PAIRS = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))
let prefix = ''
let mask = 0
let count = 0

/** `req_` and 32 hexadecimal digits: the form that vendors' clients of models expect. */
function makeId(): string {
  if (count === 0) {
    const bytes = randomBytes(PREFIX_BYTES + COUNT_BYTES)
    prefix = `req_${bytes.toString('hex', 0, PREFIX_BYTES)}`
    mask = bytes.readUInt32LE(PREFIX_BYTES)
  }
  count = (count + 1) >>> 0
  const mixed = Math.imul(count, FACTOR) ^ mask
  return prefix + PAIRS[mixed >>> 24] + PAIRS[(mixed >>> 16) & 255] + PAIRS[(mixed >>> 8) & 255] + PAIRS[mixed & 255]
}
