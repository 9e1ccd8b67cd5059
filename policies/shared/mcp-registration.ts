/**
 * Registration of clients (RFC 7591) where the gateway stands before the issuer: passed on to it, or answered with the
 * one client that the configuration names. And how documents of this kind are answered.
 */
import { collectRequest } from '#engine/contract/body.ts'
import { type Exchange, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { signalOf } from '#engine/contract/exchange-signal.ts'
import { STOP, type Verdict } from '#engine/contract/filter.ts'
import { fetchText } from '#engine/contract/outbound-text.ts'
import { answer } from '#engine/contract/refuse.ts'
import { type McpAuthority, registered, registrationUrl } from './mcp-metadata.ts'

const BODY_BYTES_MAX = 64 * 1024
const BOUNDS = { bytesMax: BODY_BYTES_MAX, timeoutMs: 10_000 }
/** Registrations under way in one thread: every client can begin one. */
const REGISTRATIONS_MAX = 8

/** Read by programs in browsers, of any origin. */
export const OPEN = [
  ...['Access-Control-Allow-Origin', '*', 'Access-Control-Allow-Methods', 'GET, POST, OPTIONS'],
  ...['Access-Control-Allow-Headers', '*', 'Cache-Control', 'no-store']
]

export function json(ex: Exchange, status: number, body: unknown, headers = OPEN): Verdict {
  return answer(ex, { status, body: JSON.stringify(body), contentType: 'application/json', headers })
}

export type Register = (ex: Exchange) => Promise<Verdict>

/** Null: clients register elsewhere. */
export function registrations(config: McpAuthority): Register | null {
  const { clientId } = config
  const url = registrationUrl(config)
  if (clientId === null && url === null) return null
  const collect = collectRequest(BODY_BYTES_MAX)
  let underWay = 0
  return async (ex) => {
    if (underWay >= REGISTRATIONS_MAX) return busy(ex)
    underWay++
    try {
      if ((await collect(ex)) === STOP || ex.step !== STEP_REQUEST) return STOP
      const registration = parsed(ex.requestBytes)
      if (registration === undefined) return invalid(ex, 'the body is no JSON object')
      if (clientId === null) return await passOn(ex, url!, registration)
      const made = registered(clientId, registration)
      return made === null ? invalid(ex, 'redirect_uris must be a list of URIs') : json(ex, 201, made)
    } finally {
      underWay--
    }
  }
}

const busy = (ex: Exchange): Verdict =>
  json(ex, 503, { error: 'temporarily_unavailable' }, [...OPEN, 'Retry-After', '1'])

const invalid = (ex: Exchange, text: string): Verdict =>
  json(ex, 400, { error: 'invalid_client_metadata', error_description: text })

function parsed(bytes: Buffer | null): object | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString('utf8') ?? '')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A refusal of the issuer is passed on as it is. Its body is JSON, or it is not passed on. */
async function passOn(ex: Exchange, url: string, registration: object): Promise<Verdict> {
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(registration) }
  const isForwarded = (status: number): boolean => (status >= 200 && status < 300) || (status >= 400 && status < 500)
  let body: unknown
  let status = 502
  try {
    const fetched = await fetchText(url, request, { ...BOUNDS, signal: signalOf(ex) }, isForwarded)
    body = fetched.text === '' ? undefined : JSON.parse(fetched.text)
    if (body !== undefined) status = fetched.status
  } catch {
    body = undefined
  }
  if (ex.step !== STEP_REQUEST) return STOP
  const text = 'the authorization server cannot register clients at the moment'
  return json(ex, status, body ?? { error: 'temporarily_unavailable', error_description: text })
}
