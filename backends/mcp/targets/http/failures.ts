/** What goes wrong between the gateway and a server, in the words of a link. */

import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
/** The server wants a token, or a better one (RFC 9110 section 11.6.1; RFC 6750 section 3). Null: it does not. */
export function challengeOf(status: number, headers: HeaderBlock): LinkFailure | null {
  if (status !== 401 && status !== 403) return null
  const challenge = headers.getAll('www-authenticate')
  return challenge === undefined ? null : { ...refusal(status, false), challenge }
}

/** What a status other than success says. */
export function refusal(status: number, hasSession: boolean): LinkFailure {
  if (status === 404 && hasSession) return { kind: 'expired', status, message: 'the session is not known any more' }
  const isRedirect = status >= 300 && status < 400
  const message = isRedirect ? 'answered with a redirect, which is not followed' : `answered with status ${status}`
  return { kind: 'refused', status, message }
}

const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  ...(['CONNECT_FAILURE', 'DNS_FAILURE', 'UPSTREAM_TLS', 'UPSTREAM_OVERFLOW'] as const),
  ...(['NO_BACKEND', 'NO_ENDPOINT', 'ADDRESS_REFUSED', 'DRAINING'] as const)
])
const LATE: ReadonlySet<ErrorCode> = new Set(['UPSTREAM_TIMEOUT', 'CONNECT_TIMEOUT', 'REQUEST_TIMEOUT'])

export function failureOf(code: ErrorCode): LinkFailure {
  const kind = LATE.has(code) ? 'timeout' : UNREACHABLE.has(code) ? 'unreachable' : 'broken'
  return { kind, status: null, message: ERRORS[code].message }
}

/** Statuses that servers give, besides the 404 of MCP, to a session that they do not know: 400 mostly, rmcp 401. */
const DOUBTFUL: ReadonlySet<number> = new Set([400, 401, 410])
const CODES: ReadonlySet<string> = new Set(['-32000', '-32001', '-32600'])
const SESSION = /\bsession\b/i
const UNKNOWN =
  /\b(?:not found|no valid|invalid|unknown|expired|terminated|closed|no longer|does not exist|not exist)\b/i

/** Whether an answer to such a status may be about the session: only then is it worth reading. */
export const mayBeExpired = (status: number, hasSession: boolean): boolean => hasSession && DOUBTFUL.has(status)

/**
 * Whether it is. The reference servers answer with a JSON-RPC error without an id ("Bad Request: No valid session ID
 * provided"), others with a line of text: what counts is that it speaks of the session, and of it as unknown.
 */
export const saysExpired = (status: number, body: Buffer): boolean => DOUBTFUL.has(status) && isAboutSession(body)

/**
 * As saysExpired, of the answer to a request. `hasId`: it is a JSON-RPC error with the id of the request. Who says that
 * has read the request, and perhaps carried it out: it is not sent again for the sake of a word in it. With 404, which
 * MCP has for lost sessions (2025-11-25, transports, Session Management), gateways give the id back too.
 */
export function hasForgottenSession(status: number, body: Buffer, hasId: boolean): boolean {
  if (status === 404) return !hasId || isAboutSession(body)
  return !hasId && saysExpired(status, body)
}

function isAboutSession(body: Buffer): boolean {
  if (body.length > REFUSAL_BYTES_MAX) return false
  const text = body.toString()
  // Codes that HTTP transports answer with themselves: others are of what has been called.
  const code = /"code"\s*:\s*(-?\d+)/.exec(text)?.[1]
  return (code === undefined || CODES.has(code)) && SESSION.test(text) && UNKNOWN.test(text)
}

/** What a server says with a status that may mean that it does not know the session. */
export class RefusalBody {
  readonly #status: number
  readonly #pieces: Buffer[] = []
  #length = 0

  constructor(status: number) {
    this.#status = status
  }

  add(chunk: Buffer, start: number, end: number): void {
    this.#length += end - start
    if (this.#length <= REFUSAL_BYTES_MAX) this.#pieces.push(Buffer.from(chunk.subarray(start, end)))
  }

  get failure(): LinkFailure {
    const isRead = this.#length <= REFUSAL_BYTES_MAX
    const isExpired = isRead && saysExpired(this.#status, Buffer.concat(this.#pieces))
    return isExpired ? refusal(404, true) : refusal(this.#status, true)
  }
}

/** A longer answer is a page, about something else. */
const REFUSAL_BYTES_MAX = 2 * 1024

export const TOO_LARGE: LinkFailure = {
  kind: 'tooLarge',
  status: null,
  message: 'the message is longer than the limit'
}

/** As long as the process keeps as much as it may. */
export const NO_ROOM: LinkFailure = { kind: 'tooLarge', status: null, message: ERRORS.BUFFERS_FULL.message }

export const broken = (message: string): LinkFailure => ({ kind: 'broken', status: null, message })
