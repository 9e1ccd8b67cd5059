/** A chain of policies as an API has it. What it costs is measured by the micro, gc and load parts of the bench. */
import { hour, keySet, signingKey, token } from './tokens.ts'

const key = signingKey('ES256')
const CLAIMS = { aud: 'api', sub: 'alice', org: 'example', groups: ['dev', 'ops'], scope: 'read write' }

/** Valid for an hour; about 400 characters. */
const TOKEN = await token(key, hour(CLAIMS), { kid: 'a' })

/** What a request carries to pass. */
export const CREDENTIALS = `Bearer ${TOKEN}`

export const RULES = {
  rules: [
    { deny: 'jwt.sub == "mallory"' },
    { require: 'jwt.org == "example" && jwt.aud == "api"' },
    '"dev" in jwt.groups && request.method == "GET"'
  ]
}

/** Two fields set, one added and one removed in the request; one set in the response. */
export const HEADER_POLICIES = {
  headerModifiers: {
    request: { set: { 'x-gateway': 'weir' }, remove: ['cookie'] },
    response: { set: { 'x-frame-options': 'DENY' } }
  },
  transformation: { request: { set: { 'x-path': 'request.path' } } },
  hostRewrite: 'Auto',
  urlRewrite: { path: { prefix: '/' } }
}

/** Policies of a route, as the file gives them. No request of a benchmark comes near the limit. */
export const CHAIN = {
  jwtAuthentication: {
    issuer: 'https://issuer.example',
    audiences: ['api'],
    jwks: { inline: keySet([key, { kid: 'a' }]) }
  },
  authorization: RULES,
  rateLimit: { local: [{ requests: 1_000_000_000, unit: 'Hours', key: 'jwt.sub' }] },
  ...HEADER_POLICIES
}
