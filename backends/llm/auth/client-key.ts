/** The credential that a client came with, for a provider that wants the client's own. */

import { KEY_FIELDS, type KeyField, type Provider } from '#backends/llm/providers/provider.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ClientKey, ClientKeys } from './authenticator.ts'
import { decoded, keyInQuery } from './query-keys.ts'

const NONE: ClientKey = { key: null, other: null }
export const NO_KEYS: ClientKeys = { inRequest: NONE, consumed: NONE }

/** Of a request whose fields are as they came; `query`: as it came too. */
export function clientKeys(ex: Exchange, query: string): ClientKeys {
  const inFields = ofLines(KEY_FIELDS.flatMap((name) => lineOf(name, ex.request.get(name))))
  const lines = ex.identity?.credentials ?? null
  const fromQuery = inFields.key === null ? keyInQuery(query) : null
  return {
    inRequest: fromQuery === null ? inFields : { key: fromQuery, other: null },
    consumed: lines === null ? NONE : ofLines(lines)
  }
}

function lineOf(name: KeyField, value: string | undefined): string[] {
  return value === undefined || value === '' ? [] : [name, value]
}

/** `lines`: flat, name, value, ... */
function ofLines(lines: readonly string[]): ClientKey {
  let other: string | null = null
  for (let i = 0; i < lines.length; i += 2) {
    const value = lines[i + 1]!
    const bare = value.replace(/^bearer +/i, '')
    if (lines[i]!.toLowerCase() !== 'authorization' || bare !== value || !value.includes(' ')) {
      return { key: bare, other: null }
    }
    other ??= value
  }
  return { key: null, other }
}

/** Whose account it is, as Google takes it in a query ("System parameters"), with a dollar too. */
const ACCOUNT = ['userProject', '$userProject']

/** A query without what only says who pays, or to which version of Azure's API. Credentials are out of it already. */
export const withoutAccount = (query: string): string => without(query, [...ACCOUNT, 'api-version'])

/** `query` without the parameters of these names, however they are encoded. */
export function without(query: string, names: readonly string[]): string {
  if (query === '') return query
  const parts = query.slice(1).split('&')
  const rest = parts.filter((part) => !names.includes(decoded(part.split('=', 1)[0]!)))
  if (rest.length === parts.length) return query
  return rest.length === 0 ? '' : `?${rest.join('&')}`
}

/** What the signature of an earlier attempt, or of the client, has left. */
const SIGNATURE_FIELDS = ['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'] as const

/** Keys of vendors that no provider here reads (Azure AI services, "Authenticate requests"). */
const OTHER_KEYS = ['ocp-apim-subscription-key', 'ocp-apim-subscription-region'] as const

/**
 * Whose account it is, beside the key (OpenAI, "Authentication"; Google, "System parameters"): with a key of the
 * gateway a client could choose what is billed.
 */
const ACCOUNT_FIELDS = [
  ...['openai-organization', 'openai-project'],
  ...['x-goog-user-project', 'x-goog-iam-authorization-token', 'x-goog-iam-authority-selector']
] as const

const CREDENTIAL_FIELDS: readonly string[] = [...KEY_FIELDS, ...SIGNATURE_FIELDS, ...OTHER_KEYS]
const WHO_FIELDS: readonly string[] = [...CREDENTIAL_FIELDS, ...ACCOUNT_FIELDS]

/**
 * Takes out whatever says who asks: the client's own, and what the provider of an earlier attempt was shown. `stays`:
 * of what is no key, all that goes with the client's own (`passthrough`), its account (`client`), or nothing.
 */
export function removeKeys(
  ex: Exchange,
  { keyParameter }: Provider,
  stays: 'passthrough' | 'client' | 'nothing' = 'nothing'
): void {
  ex.request.strip(stays === 'nothing' ? WHO_FIELDS : CREDENTIAL_FIELDS)
  // Cookies are between the client and this gateway.
  if (stays !== 'passthrough') ex.request.remove('cookie')
  if (keyParameter !== undefined) ex.query = without(ex.query, [keyParameter])
}

/** What may stand in a header line; a client's key may have been percent-encoded in a query. */
const LINE = /^[\t -~\u0080-\u00ff]+$/

/** Puts `key` where `provider` reads it. A key with a scheme ("Basic ...") is the whole line. */
export function putKey(ex: Exchange, provider: Provider, key: string): void {
  if (!LINE.test(key)) return
  const field = provider.keyField(key)
  const isWhole = field !== 'authorization' || key.includes(' ')
  ex.request.append(field, isWhole ? key : `Bearer ${key}`)
}
