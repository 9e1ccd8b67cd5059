/** From a parsed HTTP/1 head to an exchange, or to the reason why there is none. RFC 9112. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import {
  BODY_LENGTH,
  BODY_NONE,
  BODY_STREAM,
  type BodyKind,
  type ClientStream,
  Exchange
} from '#engine/contract/exchange.ts'
import type { Framing } from '#engine/http/fields.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { FAULT_FRAMING, FAULT_HEADERS, FAULT_METHOD, FAULT_URI, FAULT_VERSION } from '#engine/http/llhttp-faults.ts'
import type { Parser } from '#engine/http/llhttp-parser.ts'
import { isAuthority, parseTarget } from '#engine/http/target.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

const FOREIGN_BYTES_MAX = 1024
const TLS_HANDSHAKE = 0x16
const TLS_MAJOR = 3

/**
 * Decides what llhttp leaves open: Host, target, coding, version, Expect, Upgrade. `framing` is that of
 * `block`; what belongs to this hop is dropped from the block. `bodyBytesMax`: 0 for no limit.
 */
export function readRequest(
  client: ClientStream,
  parser: Parser,
  block: HeaderBlock,
  framing: Framing,
  bodyBytesMax: number
): Exchange | ErrorCode {
  const { method, versionMinor } = parser
  if (parser.versionMajor !== 1) return 'VERSION_UNKNOWN'
  if (!isPlainHttp(block.text, parser.targetEnd)) return 'BAD_REQUEST'
  if (method === 'CONNECT') return 'CONNECT_REFUSED'
  if (framing.hosts > 1 || (framing.hosts === 0 && versionMinor === 1)) return 'BAD_HOST'
  const target = parseTarget(block.text.substring(parser.targetStart, parser.targetEnd), method)
  if (target === null) return 'BAD_TARGET'
  const host = framing.host < 0 ? '' : block.value(framing.host).toLowerCase()
  if (host !== '' && !isAuthority(host)) return 'BAD_HOST'
  // The authority is sent on by the upstream side: the received Host line is not.
  if (framing.host >= 0) block.drop(framing.host)
  const code = refusedFraming(framing, versionMinor, bodyBytesMax)
  if (code !== null) return code
  const kind = framing.chunked ? BODY_STREAM : framing.length > 0 ? BODY_LENGTH : BODY_NONE
  const { path, query, authority } = target
  const length = Math.max(framing.length, 0)
  const ex = new Exchange(client, method, path, query, authority ?? host, block, kind, length, turnStartedAt)
  ex.wantsTrailers = framing.trailers
  if (framing.expect >= 0 && !readExpect(ex, framing.expect, kind, versionMinor)) return 'EXPECTATION_FAILED'
  if (framing.upgrade >= 0) readUpgrade(ex, framing, versionMinor)
  return ex
}

function refusedFraming(framing: Framing, versionMinor: number, bodyBytesMax: number): ErrorCode | null {
  if (framing.length === -2) return 'BAD_FRAMING'
  if (framing.coded && versionMinor === 0) return 'BAD_FRAMING'
  if (framing.coded && !framing.chunked) return 'CODING_UNKNOWN'
  return bodyBytesMax > 0 && framing.length > bodyBytesMax ? 'BODY_TOO_LARGE' : null
}

/** False: the request has an expectation that cannot be met here (RFC 9110 section 10.1.1). */
export function readExpect(ex: Exchange, index: number, kind: BodyKind, versionMinor: number): boolean {
  if (ex.request.getAll('expect')?.toLowerCase() !== '100-continue') return false
  ex.expectsContinue = kind !== BODY_NONE && versionMinor === 1
  if (!ex.expectsContinue) ex.request.drop(index)
  return true
}

/** An upgrade is passed on only where it cannot be misread: no body, and not to another HTTP. */
function readUpgrade(ex: Exchange, framing: Framing, versionMinor: number): void {
  const token = ex.request.value(framing.upgrade).toLowerCase()
  ex.request.drop(framing.upgrade)
  if (!framing.wantsUpgrade || ex.requestBody !== BODY_NONE || versionMinor === 0) return
  if (/^[a-z0-9!#$&'*+.^_`|~/-]{1,64}$/.test(token) && !token.startsWith('h2')) ex.upgrade = token
}

/**
 * llhttp also takes RTSP and ICE for HTTP, and lone CR or LF before the request line for empty lines.
 * `targetEnd`: where the request target ends in `text`.
 */
function isPlainHttp(text: string, targetEnd: number): boolean {
  if (text.charCodeAt(0) <= 13 && !/^(?:\r\n)+[A-Z]/.test(text)) return false
  return text.charCodeAt(targetEnd + 1) === 72 || /^ +HTTP/.test(text.slice(targetEnd))
}

/**
 * Whether what begins a connection, at [start, end) of `bytes`, is a line of another protocol: HTTP/1 names itself in
 * every request line. It gets no answer: it would not be understood.
 */
export function isForeign(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.latin1Slice(start, Math.min(end, start + FOREIGN_BYTES_MAX))
  const line = text.indexOf('\r\n')
  return line > 0 && !text.slice(0, line).includes(' HTTP/')
}

/**
 * Whether what begins a connection, at [start, end) of `bytes`, is TLS: a record of a handshake (RFC 8446 section
 * 5.1). No method begins with its first byte, which may come alone.
 *
 * It gets an answer in clear text like every other refusal, as from nginx and HAProxy, and no TLS alert: clients then
 * say "wrong version number", which is known as the sign of https:// at a port without TLS. Tried with curl, Node and
 * Python: an alert makes them say "tlsv1 alert protocol version", which sends people to look at versions of TLS.
 */
export function isTlsHandshake(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === TLS_HANDSHAKE && (end === start + 1 || bytes[start + 1] === TLS_MAJOR)
}

/** What the parser's fault (llhttp-faults.ts) means for the client. */
export function codeOfFault(fault: number): ErrorCode {
  switch (fault) {
    case FAULT_METHOD:
      return 'METHOD_UNKNOWN'
    case FAULT_VERSION:
      return 'VERSION_UNKNOWN'
    case FAULT_FRAMING:
      return 'BAD_FRAMING'
    case FAULT_HEADERS:
      return 'HEADERS_TOO_LARGE'
    case FAULT_URI:
      return 'URI_TOO_LONG'
    default:
      return 'BAD_REQUEST'
  }
}
