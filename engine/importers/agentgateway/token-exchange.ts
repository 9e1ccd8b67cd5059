/**
 * `backendAuth.oauthTokenExchange`: the client's token is exchanged for another one (RFC 8693), or asserted (RFC 7523).
 * Here the token endpoint is asked as an authorization service, and what it answers goes into the request.
 */
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'

const TOKEN = 'request.headers["authorization"].split(" ")[1]'
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** Policies of a route; null: it cannot be said so. */
export function tokenExchange(exchange: Raw): Raw | null {
  const {
    host,
    path,
    grantType = 'tokenExchange',
    clientAuth,
    audiences,
    scopes,
    resources,
    additionalParams
  } = exchange
  const known = [
    'host',
    'path',
    'grantType',
    'clientAuth',
    'audiences',
    'scopes',
    'resources',
    'additionalParams',
    'cache'
  ]
  const lists = [audiences, resources].map(listOf)
  if (typeof host !== 'string' || /^https?:/.test(host) || typeof path !== 'string') return null
  if (Object.keys(exchange).some((key) => !known.includes(key)) || lists.some((list) => list.length > 1)) return null
  const fields: Record<string, string> = {
    ...(grantType === 'jwtBearer'
      ? { grant_type: quoted(JWT_BEARER), assertion: TOKEN }
      : { grant_type: quoted(TOKEN_EXCHANGE), subject_token: TOKEN, subject_token_type: quoted(ACCESS_TOKEN) }),
    ...(lists[0]![0] === undefined ? {} : { audience: quoted(lists[0]![0]) }),
    ...(lists[1]![0] === undefined ? {} : { resource: quoted(lists[1]![0]) }),
    ...scopeOf(scopes),
    // Expressions, as they are.
    ...(objectOf(additionalParams) as Record<string, string>)
  }
  return {
    extAuthz: { host, protocol: { http: tokenRequest(path, fields, objectOf(clientAuth), 'token') } },
    transformations: { request: { set: { authorization: '"Bearer " + extauthz.token' } } }
  }
}

/** Of extAuthz: a question to a token endpoint, whose token becomes `extauthz.KEY`. `fields`: expressions. */
export function tokenRequest(path: string, fields: Readonly<Record<string, string>>, client: Raw, key: string): Raw {
  const basic = client.method === undefined || client.method === 'clientSecretBasic'
  const [id, secret] = [text(client.clientId), text(client.clientSecret)]
  const all = {
    ...fields,
    ...(id !== undefined && !basic ? { client_id: quoted(id), client_secret: quoted(secret ?? '') } : {})
  }
  const body = Object.entries(all).map(([name, value]) => `  ${quoted(name)}: ${value}`)
  return {
    path: quoted(path),
    addRequestHeaders: {
      'content-type': quoted('application/x-www-form-urlencoded'),
      ':method': quoted('POST'),
      ...(id !== undefined && basic
        ? { authorization: `"Basic " + base64.encode(${quoted(`${id}:${secret ?? ''}`)})` }
        : {})
    },
    body: `form.encode({\n${body.join(',\n')}\n})`,
    metadata: { [key]: 'json(response.body).access_token' }
  }
}

/** Absent without any. */
export const scopeOf = (scopes: unknown): Record<string, string> =>
  listOf(scopes).length === 0 ? {} : { scope: quoted(listOf(scopes).join(' ')) }

export const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/** A string of CEL; a variable in it stays one. */
export const quoted = (value: string): string => JSON.stringify(value)
