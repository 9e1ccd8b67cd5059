/** What a service has decided of a request, and what becomes of the exchange. */
import { EXT_AUTHZ } from '#engine/cel/exchange.ts'
import { placeOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { refuse, setRefusalStatus } from '#engine/contract/refuse.ts'
import { withRequestIdField } from '#engine/contract/request-id.ts'
import { Slot } from '#engine/contract/slot.ts'
import { applyField, type FieldChange } from '#policies/shared/service-fields.ts'

export interface Allowed {
  readonly kind: 'allowed'
  readonly fields: readonly FieldChange[]
  readonly removed: readonly string[]
  /** Parameters of the query, as they are written there. */
  readonly setQuery: readonly (readonly [name: string, value: string])[]
  readonly removedQuery: readonly string[]
  /** For the answer to the client. */
  readonly responseFields: readonly FieldChange[]
  readonly metadata: Readonly<Record<string, unknown>> | null
}

export interface Denied {
  readonly kind: 'denied'
  /** Null: that of the policy's own refusal, with its text. */
  readonly reply: { readonly status: number; readonly headers: readonly string[]; readonly body: Buffer } | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** The call failed, or the service answers that it failed itself. */
export interface Failed {
  readonly kind: 'failed'
  readonly detail: string
  /** The reply that the service wants for the client. */
  readonly reply: Denied['reply']
  /** The check could not be built from this request, perhaps because of the client: every failure mode refuses it. */
  readonly isOfRequest?: true
}

export interface Decision {
  readonly verdict: Allowed | Denied
  /** Milliseconds for which it may be kept; null: as long as the policy says. */
  readonly lifetimeMs: number | null
}

/** Changes for the answer that the exchange will have. */
const RESPONSE_FIELDS = new Slot<readonly FieldChange[]>()

export function applyVerdict(ex: Exchange, verdict: Allowed | Denied): Verdict {
  if (verdict.metadata !== null) EXT_AUTHZ.set(ex, verdict.metadata)
  if (verdict.kind === 'denied') return deny(ex, verdict.reply)
  const { request } = ex
  for (const change of verdict.fields) applyField(request, change)
  if (verdict.removed.length > 0) request.strip(verdict.removed)
  if (verdict.setQuery.length > 0 || verdict.removedQuery.length > 0) ex.query = changedQuery(ex.query, verdict)
  if (verdict.responseFields.length > 0) RESPONSE_FIELDS.set(ex, verdict.responseFields)
  return CONTINUE
}

/** `statusOnError`: null lets it pass. */
export function applyFailure(ex: Exchange, failed: Failed, statusOnError: number | null): Verdict {
  if (statusOnError === null && failed.isOfRequest !== true) return CONTINUE
  const { detail, reply } = failed
  ex.errorDetail = (refused) => `${placeOf(refused, 'extAuth')}: ${detail}`
  if (reply !== null) return replyWith(ex, 'EXT_AUTH_UNAVAILABLE', reply)
  if (statusOnError !== null) setRefusalStatus(ex, 'EXT_AUTH_UNAVAILABLE', statusOnError)
  return refuse(ex, 'EXT_AUTH_UNAVAILABLE')
}

export function writeResponseFields(ex: Exchange): Verdict {
  const changes = RESPONSE_FIELDS.get(ex)
  if (changes !== null && ex.response !== null) for (const change of changes) applyField(ex.response, change)
  return CONTINUE
}

function deny(ex: Exchange, reply: Denied['reply']): Verdict {
  return reply === null ? refuse(ex, 'EXT_AUTH_DENIED') : replyWith(ex, 'EXT_AUTH_DENIED', reply)
}

function replyWith(
  ex: Exchange,
  code: 'EXT_AUTH_DENIED' | 'EXT_AUTH_UNAVAILABLE',
  { status, headers, body }: NonNullable<Denied['reply']>
): Verdict {
  if (ex.response !== null) return STOP
  let contentType: string | null = null
  const others: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-type') contentType ??= headers[i + 1]!
    else others.push(headers[i]!, headers[i + 1]!)
  }
  ex.error = code
  ex.localReply = {
    status,
    body: body.length === 0 ? null : body,
    contentType,
    headers: withRequestIdField(others, ex)
  }
  return STOP
}

/** What cannot stand in a query, or would end a parameter. */
const UNSAFE = /[^!$%'()*+,\-./0-9:;=?@A-Z_a-z~]+/g

/** Percent-encoded where it has to be: what the service has encoded stays. */
function written(text: string): string {
  return text.replace(UNSAFE, (found) => {
    let out = ''
    for (const byte of Buffer.from(found, 'utf8')) out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    return out
  })
}

/** However its name is written, a parameter is found. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // A broken escape stands for itself.
    return text
  }
}

function changedQuery(query: string, { setQuery, removedQuery }: Allowed): string {
  const gone = new Set([...removedQuery, ...setQuery.map(([name]) => name)].map(decoded))
  const removed = new Set(removedQuery)
  const kept = query
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !gone.has(decoded(parameter.split('=', 1)[0]!)))
  const added = setQuery
    .filter(([name]) => !removed.has(name))
    .map(([name, value]) => `${written(name).replaceAll('=', '%3D')}=${written(value)}`)
  const all = [...kept, ...added].join('&')
  return all === '' ? '' : `?${all}`
}
