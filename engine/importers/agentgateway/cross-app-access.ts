/**
 * `backendAuth.crossAppAccess`: the token of the user's identity provider is exchanged for an identity assertion, and
 * that for a token of the resource (draft-ietf-oauth-identity-assertion-authz-grant). Here two authorization services
 * are asked one after the other: the first before routes are looked at, where the user's token has been checked.
 */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { JWT_BEARER, listOf, quoted, scopeOf, TOKEN_EXCHANGE, tokenRequest } from './token-exchange.ts'

const SUBJECT = 'jwt.rawToken.unredacted()'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const KNOWN = ['subjectToken', 'identityProvider', 'resourceAuthorizationServer', 'audience', 'scopes', 'resources']

/** What is not understood stays, and closes its route. */
export function rewriteCrossAppAccess(listener: Placed, draft: Draft, file: ForeignFile): void {
  const routes = entriesOf(listener.raw.routes, [...listener.path, 'routes'])
  const [only] = routes
  if (routes.length !== 1 || listener.raw.policies !== undefined) return
  const policies = objectOf(only!.raw.policies)
  const access = objectOf(objectOf(policies.backendAuth).crossAppAccess)
  const legs = legsOf(access, draft)
  if (legs === null || policies.jwtAuth === undefined || policies.extAuthz !== undefined) return
  if (policies.transformations !== undefined || policies.transformation !== undefined) return
  const { backendAuth: _, jwtAuth, ...others } = policies
  listener.raw.policies = { phase: 'PreRouting', jwtAuth, extAuthz: legs.assertion }
  only!.raw.policies = {
    ...others,
    extAuthz: legs.token,
    transformations: { request: { set: { authorization: '"Bearer " + extauthz.token' } } }
  }
  if (access.cache !== undefined) {
    draft.note(file, [...only!.path, 'policies', 'backendAuth', 'crossAppAccess', 'cache'], 'each request asks anew')
  }
}

function legsOf(access: Raw, draft: Draft): { readonly assertion: Raw; readonly token: Raw } | null {
  const { subjectToken, identityProvider, resourceAuthorizationServer, audience, scopes, resources } = access
  const source = objectOf(objectOf(subjectToken).source)
  const isKnown = Object.keys(access).every((key) => KNOWN.includes(key) || key === 'cache')
  const [resource, ...more] = listOf(resources)
  if (!isKnown || source.expression !== SUBJECT || typeof audience !== 'string' || more.length > 0) return null
  const exchange = {
    grant_type: quoted(TOKEN_EXCHANGE),
    requested_token_type: quoted(ID_JAG),
    subject_token: SUBJECT,
    subject_token_type: quoted(ID_TOKEN),
    audience: quoted(audience),
    ...(resource === undefined ? {} : { resource: quoted(resource) }),
    ...scopeOf(scopes)
  }
  const bearer = { grant_type: quoted(JWT_BEARER), assertion: 'extauthz.assertion', ...scopeOf(scopes) }
  const assertion = serviceOf(objectOf(identityProvider), 'identity-provider', exchange, 'assertion', draft)
  const token = serviceOf(objectOf(resourceAuthorizationServer), 'resource-server', bearer, 'token', draft)
  return assertion === null || token === null ? null : { assertion, token }
}

const ADDRESS = /^(?:(https?):\/\/)?([^/?#]+)$/

/** An authorization service at `server`; one with TLS is a backend by name. */
function serviceOf(
  { host, path, clientAuth, ...others }: Raw,
  name: string,
  fields: Readonly<Record<string, string>>,
  key: string,
  draft: Draft
): Raw | null {
  const [, scheme, authority] = ADDRESS.exec(text(host) ?? '') ?? []
  if (authority === undefined || typeof path !== 'string' || Object.keys(others).length > 0) return null
  const protocol = { http: tokenRequest(path, fields, objectOf(clientAuth), key) }
  const port = /:[0-9]+$/.test(authority) ? '' : scheme === 'https' ? ':443' : ':80'
  if (scheme !== 'https') return { host: `${authority}${port}`, protocol }
  const all = Array.isArray(draft.value.backends) ? draft.value.backends : []
  const known = new Set(all.map((one) => objectOf(one).name))
  let own = name
  for (let i = 2; known.has(own); i++) own = `${name}-${i}`
  draft.value.backends = [...all, { name: own, host: `${authority}${port}`, policies: { backendTLS: {} } }]
  return { backendRef: { name: own }, protocol }
}
