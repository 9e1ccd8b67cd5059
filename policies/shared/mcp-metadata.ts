/**
 * What an MCP server tells clients of how to be authorized (MCP 2025-11-25, authorization; RFC 9728, 8414, 7591): pure
 * functions from the configuration, the request's address and the issuer's metadata to documents.
 */
import type { Metadata } from './authorization-server.ts'

export const RESOURCE = '/.well-known/oauth-protected-resource'
export const SERVER = '/.well-known/oauth-authorization-server'
export const OPEN_ID = '/.well-known/openid-configuration'
export const REGISTRATION = '/client-registration'

export interface McpAuthority {
  readonly issuer: string
  /** Null: one without oddities. */
  readonly provider: 'auth0' | 'keycloak' | null
  readonly audiences: readonly string[] | null
  /** Of a client that is registered with the issuer already, for clients that would register; null: there is none. */
  readonly clientId: string | null
  /** Names as RFC 9728 has them. */
  readonly resourceMetadata: Metadata
  readonly requiredScopes: readonly string[]
  /** The server that clients are sent to. 'auto': the issuer, unless its metadata has to be adapted (standsIn). */
  readonly authorizationServer: 'auto' | 'issuer' | 'gateway'
}

/** Where the request came to: "https://host:port", and the path of the MCP endpoint, "" for the root. */
export interface ServerUrl {
  readonly origin: string
  readonly path: string
}

/** There is something in the issuer's metadata that its clients need changed. */
export function needsAdapting({ provider, clientId }: McpAuthority): boolean {
  return provider !== null || clientId !== null
}

/**
 * Whether clients see the gateway instead of the issuer. Not where the issuer names itself in its answers
 * (RFC 9207, as Keycloak does): clients compare that with the issuer of the metadata, and refuse the login when these
 * differ. `metadata`: the issuer's; null: it is not known, so nothing can be served in its place.
 */
export function replacesIssuer(authority: McpAuthority, metadata: Metadata | null): boolean {
  if (authority.authorizationServer !== 'auto') return authority.authorizationServer === 'gateway'
  return needsAdapting(authority) && metadata !== null && !namesItself(metadata)
}

export function namesItself(metadata: Metadata): boolean {
  return metadata.authorization_response_iss_parameter_supported === true
}

/** RFC 9728 section 2. What the configuration says wins. `isHere`: the gateway is the authorization server. */
export function resourceDocument(authority: McpAuthority, place: ServerUrl, isHere: boolean): Metadata {
  const { issuer, requiredScopes, resourceMetadata } = authority
  return {
    resource: place.origin + place.path,
    authorization_servers: [isHere ? place.origin + place.path : issuer],
    bearer_methods_supported: ['header'],
    ...(requiredScopes.length === 0 ? {} : { scopes_supported: requiredScopes }),
    ...resourceMetadata
  }
}

/** RFC 8414 section 2: the issuer's metadata, with what clients of it need changed. */
export function serverDocument(authority: McpAuthority, place: ServerUrl, metadata: Metadata): Metadata {
  const { provider, audiences, clientId } = authority
  const out: Record<string, unknown> = { ...metadata }
  const isHere = replacesIssuer(authority, metadata)
  if (isHere) {
    // Clients compare it with where they found it (RFC 8414 section 3.3).
    out.issuer = place.origin + place.path
    // What the issuer says of itself in its answers (RFC 9207) is not this name.
    delete out.authorization_response_iss_parameter_supported
  }
  // Signed by the issuer, it would contradict what is changed (RFC 8414 section 2.1).
  if (isHere || needsAdapting(authority)) delete out.signed_metadata
  const [audience] = audiences ?? []
  if (provider === 'auth0' && audience !== undefined) {
    // Without it the issuer gives tokens that only it can read.
    out.authorization_endpoint = withAudience(out.authorization_endpoint, audience)
  }
  // Browsers may not ask the issuer itself: it does not let them.
  if (provider === 'keycloak' || clientId !== null) {
    out.registration_endpoint = place.origin + SERVER + place.path + REGISTRATION
  }
  return out
}

function withAudience(endpoint: unknown, audience: string): unknown {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  if (url === null) return endpoint
  url.searchParams.set('audience', audience)
  return url.href
}

/** Where clients of `issuer` register; null: the gateway does not pass that on. */
export function registrationUrl({ issuer, provider }: McpAuthority): string | null {
  return provider === 'keycloak' ? `${issuer.replace(/\/$/, '')}/clients-registrations/openid-connect` : null
}

const REDIRECTS_MAX = 16
const TEXT_CHARS_MAX = 2_048

/** RFC 7591 section 3.2.1, for the one client that there is; null: `request` is no registration. */
export function registered(clientId: string, request: unknown): Metadata | null {
  if (typeof request !== 'object' || request === null) return null
  const { redirect_uris: redirects, client_name: name } = request as Metadata
  if (!Array.isArray(redirects) || redirects.length === 0 || redirects.length > REDIRECTS_MAX) return null
  if (!redirects.every((uri) => typeof uri === 'string' && uri.length <= TEXT_CHARS_MAX)) return null
  return {
    client_id: clientId,
    ...(typeof name === 'string' && name.length <= TEXT_CHARS_MAX ? { client_name: name } : {}),
    redirect_uris: redirects,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none'
  }
}

/** Scopes of a token: `scope` (RFC 9068 section 2.2.3) or `scp`, as text or as a list. */
export function hasScopes({ scope, scp }: Metadata, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true
  const scopes = [scope, scp].flatMap((value): unknown[] =>
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  )
  return wanted.every((one) => scopes.includes(one))
}

/** What may stand in a header and in a link as it is. */
const PLAIN_AUTHORITY = /^[a-z0-9._:[\]-]+$/
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*$/

/** Null: nothing that a client sent can be repeated safely. */
export function serverUrlOf(scheme: string, authority: string, path: string): ServerUrl | null {
  if (!PLAIN_AUTHORITY.test(authority) || !PLAIN_PATH.test(path)) return null
  return { origin: `${scheme}://${authority}`, path: path.replace(/\/+$/, '') }
}

/** `resource` of the configuration, where the request does not show its URL; null: it is no URL. */
export function serverUrlOfResource(resource: unknown): ServerUrl | null {
  const url = typeof resource === 'string' ? URL.parse(resource) : null
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  return serverUrlOf(url.protocol.slice(0, -1), url.host, url.pathname)
}
