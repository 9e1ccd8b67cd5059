/**
 * Credentials in a query. Clients of models show their keys there too, and what they show is for this gateway: a
 * provider gets none of it, whatever it was shown for. One list, for all formats and for what passes through.
 */

/**
 * Names of parameters as they are compared: decoded, in lower case, without anything but letters and digits. So `$key`,
 * `api-key`, `API_KEY`, `key[]` and `%6Bey` are none besides. What pages lists (`pageToken`) is no credential.
 */
const NAMES: ReadonlySet<string> = new Set([
  // The gateway's own place for keys (KEY_PLACES), and Google's ("System parameters").
  ...['key', 'accesstoken', 'oauthtoken', 'bearertoken'],
  // As Anthropic's, Azure's and Google's fields are called, and that of portals before them (Azure API Management).
  ...['apikey', 'xapikey', 'googapikey', 'xgoogapikey', 'subscriptionkey', 'ocpapimsubscriptionkey'],
  // Names that JWT and key policies are usually configured with.
  ...['token', 'apitoken', 'authtoken', 'idtoken', 'jwt', 'bearer', 'auth', 'authkey', 'authorization', 'accesskey'],
  ...['secret', 'apisecret', 'secretkey', 'clientsecret', 'password', 'sessiontoken', 'securitytoken']
])

/** A URL that AWS would take without fields ("Authenticating Requests: Using Query Parameters"). */
const PRESIGNED = /^xamz/

/** Whether this is a whole credential by itself, as a client of a provider shows it. */
const KEYS: ReadonlySet<string> = new Set(
  [...NAMES].filter((name) => !/secret|password|session|security|accesskey/.test(name))
)

const SEPARATORS = /[&;]/

function nameOf(part: string): string {
  const name = part.split('=', 1)[0]!
  return decoded(name)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

const isCredential = (part: string): boolean => {
  const name = nameOf(part)
  return NAMES.has(name) || PRESIGNED.test(name)
}

/** `query`: with its "?", or empty. What stays is as it came. */
export function withoutCredentials(query: string): string {
  if (query === '') return query
  const all = query.slice(1).split('&')
  // Some servers take ";" for "&" (HTML 4.01, B.2.2): a parameter behind one is a parameter.
  const rest = all.flatMap((part) => {
    if (!part.includes(';')) return isCredential(part) ? [] : [part]
    const pieces = part.split(';')
    const kept = pieces.filter((piece) => !isCredential(piece))
    return kept.length === 0 ? [] : [kept.length === pieces.length ? part : kept.join(';')]
  })
  if (rest.length === all.length && rest.every((part, i) => part === all[i])) return query
  return rest.length === 0 ? '' : `?${rest.join('&')}`
}

/** The first key or token in `query`, for a provider that is shown the client's own; null: there is none. */
export function keyInQuery(query: string): string | null {
  if (query === '') return null
  const part = query
    .slice(1)
    .split(SEPARATORS)
    .find((one) => one.includes('=') && KEYS.has(nameOf(one)))
  if (part === undefined) return null
  const text = decoded(part.slice(part.indexOf('=') + 1))
  return /^[!-~]+$/.test(text) ? text : null
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
