/**
 * `backendAuth.oauthTokenExchange`: the client's token is exchanged for another one (RFC 8693), or asserted (RFC 7523).
 * Here the token endpoint is asked as an authorization service, and what it answers goes into the request.
 */
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'

const TOKEN = 'request.headers["authorization"].split(" ")[1]'
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
  const client = objectOf(clientAuth)
  const basic = client.method === undefined || client.method === 'clientSecretBasic'
  const [id, secret] = [text(client.clientId), text(client.clientSecret)]
  const fields: Record<string, string> = {
    ...(grantType === 'jwtBearer'
      ? { grant_type: quoted('urn:ietf:params:oauth:grant-type:jwt-bearer'), assertion: TOKEN }
      : {
          grant_type: quoted('urn:ietf:params:oauth:grant-type:token-exchange'),
          subject_token: TOKEN,
          subject_token_type: quoted(ACCESS_TOKEN)
        }),
    ...(id !== undefined && !basic ? { client_id: quoted(id), client_secret: quoted(secret ?? '') } : {}),
    ...(lists[0]![0] === undefined ? {} : { audience: quoted(lists[0]![0]) }),
    ...(lists[1]![0] === undefined ? {} : { resource: quoted(lists[1]![0]) }),
    ...(listOf(scopes).length === 0 ? {} : { scope: quoted(listOf(scopes).join(' ')) }),
    // Expressions, as they are.
    ...(objectOf(additionalParams) as Record<string, string>)
  }
  const body = Object.entries(fields).map(([name, value]) => `  ${quoted(name)}: ${value}`)
  const http = {
    path: quoted(path),
    addRequestHeaders: {
      'content-type': quoted('application/x-www-form-urlencoded'),
      ':method': quoted('POST'),
      ...(id !== undefined && basic
        ? { authorization: `"Basic " + base64.encode(${quoted(`${id}:${secret ?? ''}`)})` }
        : {})
    },
    body: `form.encode({\n${body.join(',\n')}\n})`,
    metadata: { token: 'json(response.body).access_token' }
  }
  return {
    extAuthz: { host, protocol: { http } },
    transformations: { request: { set: { authorization: '"Bearer " + extauthz.token' } } }
  }
}

const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/** A string of CEL; a variable in it stays one. */
const quoted = (value: string): string => JSON.stringify(value)
