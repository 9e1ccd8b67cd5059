/**
 * spec.backend.mcp.authentication: callers of MCP servers show a token of one issuer, and learn where to get one
 * (docs/specification.md#mcp-policies; MCP 2025-11-25, authorization; RFC 9728, RFC 8414, RFC 6750).
 */

import { together } from '#engine/contract/background.ts'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import { type Exchange, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { type Claims, identityOf } from '#engine/contract/identity.ts'
import type { CompileContext, Compiled, Policy, Sources } from '#engine/contract/policy.ts'
import { answer, refuse } from '#engine/contract/refuse.ts'
import { SharedInForce } from '#engine/contract/shared-in-force.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import { duration } from '#engine/schema/duration.ts'
import { realName } from '#engine/schema/names.ts'
import { cel } from '#engine/schema/rule.ts'
import {
  deferred,
  list,
  longString,
  map,
  refused,
  refusedKeys,
  says,
  shortString,
  tinyString,
  z
} from '#engine/schema/schema.ts'
import { anyJson, inResources, words } from '#engine/schema/spelling.ts'
import { AuthorizationServer, type Metadata } from '#policies/shared/authorization-server.ts'
import { BEARER, credentialAt, placeText, SEVERAL } from '#policies/shared/credential.ts'
import type { Verifier } from '#policies/shared/jwt-verifier.ts'
import {
  hasScopes,
  type McpAuthority,
  namesItself,
  needsAdapting,
  OPEN_ID,
  REGISTRATION,
  RESOURCE,
  replacesIssuer,
  resourceDocument,
  SERVER,
  type ServerUrl,
  serverDocument,
  serverUrlOf,
  serverUrlOfResource
} from '#policies/shared/mcp-metadata.ts'
import { json, OPEN, type Register, registrations } from '#policies/shared/mcp-registration.ts'
import { wellKnownPrefixes } from '#policies/shared/mcp-well-known.ts'
import {
  CLOSED_ISSUER,
  EARLY_MS,
  type KeyConfig,
  type Keys,
  keys,
  LEEWAY_MS,
  MODES,
  type Mode,
  modeOf,
  remoteKeys,
  resolveKeys,
  tokenVerifier
} from '#policies/shared/token-rules.ts'
import { MIN_RSA_EXPONENT } from '#policies/shared/weak-keys.ts'

interface Config<K = Keys> extends McpAuthority {
  readonly mode: Mode
  readonly keys: K
  readonly requiredClaims: readonly string[]
  readonly leewayMs: number
  readonly earlyMs: number
}

// --- schema ---

const METADATA_MAX = 64
const SCOPES_MAX = 64
const CACHE_MS = 300_000

const ISSUER_EXPECTED = 'must be the http:// or https:// URL of the issuer, without query and fragment'
const isIssuer = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
}

const AUTHORIZATION_SERVERS = ['Auto', 'Issuer', 'Gateway'] as const

const PROVIDERS = ['auth0', 'keycloak'] as const
const PROVIDER_LATER = ['authentik', 'descope', 'entra', 'okta']
const PROVIDER_EXPECTED = 'must be Auth0 or Keycloak (IdpA or IdpB), or { auth0: {} } or { keycloak: {} }'

/** `provider` (docs/specification.md#mcp-policies): either name in any case, or as other gateways write it. */
const provider = () => {
  const either = z
    .union(
      [
        z.string().refine((text) => providerNamed(text) !== undefined, PROVIDER_EXPECTED),
        z.strictObject({
          auth0: z.strictObject({}).optional(),
          keycloak: z.strictObject({}).optional(),
          ...refusedKeys('provider of MCP authentication', PROVIDER_LATER)
        })
      ],
      { error: says(PROVIDER_EXPECTED) }
    )
    .transform((input, context): McpAuthority['provider'] => {
      const names = typeof input === 'string' ? [providerNamed(input)!] : PROVIDERS.filter((key) => input[key])
      if (names.length === 1) return names[0]!
      context.addIssue({ code: 'custom', message: PROVIDER_EXPECTED })
      return z.NEVER
    })
  return inResources(either, z.enum(['Auth0', 'Keycloak', 'IdpA', 'IdpB']))
}

function providerNamed(text: string): (typeof PROVIDERS)[number] | undefined {
  return PROVIDERS.find((name) => name === realName(text).toLowerCase())
}

const schema = deferred(() =>
  z
    .strictObject({
      issuer: shortString().refine(isIssuer, {
        error: ISSUER_EXPECTED,
        params: cel("isURL(self) && url(self).getScheme() in ['http', 'https']")
      }),
      audiences: list(longString(), 1, 64).optional(),
      jwks: inResources(keys().optional(), remoteKeys(), 'remote'),
      mode: words(MODES, 'Strict').optional(),
      provider: provider().optional(),
      authorizationServer: words(AUTHORIZATION_SERVERS)
        .optional()
        .describe(
          'Whom clients are told of: the Issuer, the Gateway in its place, or (Auto, default) as it has to be.'
        ),
      resourceMetadata: map(shortString(), anyJson(), 0, METADATA_MAX).optional(),
      requiredScopes: list(tinyString().regex(/^[!#-[\]-~]+$/, 'must be a scope: no spaces and quotes'), 1, SCOPES_MAX)
        .optional()
        .describe('A token without one of them gets 403 insufficient_scope.'),
      clientId: shortString().optional().describe('Given to clients that would register with the issuer.'),
      leeway: duration().optional(),
      jwtValidationOptions: z.strictObject({ requiredClaims: list(shortString(), 0, 64).optional() }).optional(),
      clientSecret: refused('clientSecret', 'clients are public ones: they have none'),
      authorizationLocation: refused('authorizationLocation', 'MCP has it in the header Authorization')
    })
    .transform((input): Config<KeyConfig> => {
      const { provider: kind = null, resourceMetadata = {} } = input
      const metadata = Object.fromEntries(
        Object.entries(resourceMetadata).map(([key, value]) => [snakeCase(key), value])
      )
      const { resource } = metadata
      return {
        issuer: input.issuer,
        provider: kind,
        authorizationServer: (input.authorizationServer ?? 'auto').toLowerCase() as McpAuthority['authorizationServer'],
        // RFC 8707: a token is for the resource that it names.
        audiences: input.audiences ?? (typeof resource === 'string' ? [resource] : null),
        clientId: input.clientId ?? null,
        resourceMetadata: metadata,
        requiredScopes: input.requiredScopes ?? [],
        mode: modeOf(input.mode ?? 'Strict'),
        keys: placed(input.jwks ?? derivedKeys(input.issuer, kind)),
        requiredClaims: input.jwtValidationOptions?.requiredClaims ?? ['exp'],
        leewayMs: input.leeway ?? LEEWAY_MS,
        earlyMs: input.leeway ?? EARLY_MS
      }
    })
)

/** "scopesSupported" -> "scopes_supported". */
function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Where they are given, from the policy's own value on. */
const placed = <K extends object>(keyConfig: K) => ({ ...keyConfig, at: ['jwks'] })

function derivedKeys(issuer: string, kind: McpAuthority['provider']): Keys {
  const path = kind === 'keycloak' ? '/protocol/openid-connect/certs' : '/.well-known/jwks.json'
  return { kind: 'url', url: issuer.replace(/\/$/, '') + path, cacheMs: CACHE_MS, exponentMin: MIN_RSA_EXPONENT }
}

// --- load time ---

function resolve(config: Config<KeyConfig>, sources: Sources): Config {
  return { ...config, keys: resolveKeys(config.keys, sources) }
}

function warnings({ audiences }: Config<KeyConfig>): string[] {
  const risk =
    'accepts tokens that the issuer has given out for other servers: say audiences, or resourceMetadata.resource'
  return audiences === null ? [risk] : []
}

// --- build time ---

const SERVERS = 'mcpAuthentication.servers'
const WARNED = 'mcpAuthentication.warned'

interface Parts {
  readonly config: Config
  readonly verifier: Verifier
  readonly server: AuthorizationServer
  /** Of the configuration; null: as the request says. */
  readonly fixed: ServerUrl | null
  /** Says once that the issuer names itself, where that matters. */
  readonly tell: () => void
}

function compile(config: Config, context: CompileContext): Compiled {
  const { issuer, audiences, keys: keyConfig } = config
  const { verifier, background } = tokenVerifier(
    { ...config, issuers: [{ issuer, audiences, keys: keyConfig }] },
    context
  )
  const { log, time } = context
  const servers = context.state(SERVERS, () => new SharedInForce<AuthorizationServer>())
  const isOpenIdOnly = config.provider === 'keycloak'
  const { value: server, use } = servers.share(
    `${isOpenIdOnly} ${issuer}`,
    () => new AuthorizationServer(issuer, isOpenIdOnly, { now: time.now, log })
  )
  const fixed = serverUrlOfResource(config.resourceMetadata.resource)
  const parts: Parts = { config, verifier, server, fixed, tell: teller(config, context) }
  const register = registrations(config)
  return {
    filter: {
      onRequest: (ex) =>
        ex.path.startsWith('/.well-known/') ? wellKnown(ex, parts, register) : authenticate(ex, parts)
    },
    background: background === null ? use : together([use, background])
  }
}

// --- request time: documents ---

const NO_ADDRESS = 'mcpAuthentication: the authority and the path make no address that could be told to clients'

function wellKnown(ex: Exchange, parts: Parts, register: Register | null): Verdict | Promise<Verdict> {
  const { path } = ex
  const prefix = [RESOURCE, SERVER, OPEN_ID].find((one) => path === one || path.startsWith(`${one}/`))
  if (prefix === undefined) return authenticate(ex, parts)
  const isRegistration = prefix === SERVER && path.endsWith(REGISTRATION)
  const rest = path.slice(prefix.length, isRegistration ? -REGISTRATION.length : undefined)
  const place = placeHere(ex, rest, parts)
  if (place === null) return refuse(ex, 'BAD_TARGET', null, NO_ADDRESS)
  if (ex.method === 'OPTIONS') return answer(ex, { status: 204, body: null, contentType: null, headers: OPEN })
  if (isRegistration) {
    if (register === null)
      return json(ex, 404, { error: 'invalid_request', error_description: 'clients register elsewhere' })
    return ex.method === 'POST' ? register(ex) : notAllowed(ex, 'POST, OPTIONS')
  }
  if (ex.method !== 'GET' && ex.method !== 'HEAD') return notAllowed(ex, 'GET, HEAD, OPTIONS')
  if (prefix === RESOURCE) return serveResource(ex, parts, rest === '' && parts.fixed !== null ? parts.fixed : place)
  return serve(ex, parts, place)
}

function notAllowed(ex: Exchange, allow: string): Verdict {
  return json(ex, 405, { error: 'invalid_request' }, [...OPEN, 'Allow', allow])
}

/** Only the issuer's own metadata tells whether the gateway may stand in for it. */
function serveResource(ex: Exchange, parts: Parts, place: ServerUrl): Verdict | Promise<Verdict> {
  const { config } = parts
  if (config.authorizationServer === 'auto' && needsAdapting(config)) return serveAdapted(ex, parts, place)
  return json(ex, 200, resourceDocument(config, place, replacesIssuer(config, null)))
}

async function serveAdapted(ex: Exchange, parts: Parts, place: ServerUrl): Promise<Verdict> {
  const metadata = await metadataOf(parts)
  if (ex.step !== STEP_REQUEST) return STOP
  return json(ex, 200, resourceDocument(parts.config, place, replacesIssuer(parts.config, metadata)))
}

async function metadataOf({ server, tell }: Parts): Promise<Metadata | null> {
  const metadata = await server.metadata()
  if (metadata !== null && namesItself(metadata)) tell()
  return metadata
}

/** Warns of settings that need the gateway in the issuer's place: once a thread, as nothing else shows it. */
function teller({ issuer, authorizationServer, clientId, provider }: Config, context: CompileContext): () => void {
  const what = clientId !== null ? 'clientId' : provider === 'auth0' ? 'the audience' : null
  if (authorizationServer !== 'auto' || what === null) return () => {}
  const warned = context.state(WARNED, () => new Set<string>())
  return () => {
    if (warned.has(issuer)) return
    warned.add(issuer)
    const message =
      `mcpAuthentication: the issuer ${issuer} names itself in its answers (RFC 9207), so clients are told of it and ` +
      `do not get ${what} from here; authorizationServer: Gateway is for clients that do not compare`
    context.log('warn', message)
  }
}

async function serve(ex: Exchange, parts: Parts, place: ServerUrl): Promise<Verdict> {
  const { config } = parts
  const metadata = await metadataOf(parts)
  if (ex.step !== STEP_REQUEST) return STOP
  if (metadata !== null) return json(ex, 200, serverDocument(config, place, metadata))
  const text = 'the metadata of the authorization server cannot be fetched at the moment'
  return json(ex, 502, { error: 'temporarily_unavailable', error_description: text }, [...OPEN, 'Retry-After', '5'])
}

/** Null: nothing that the client sent may be repeated. */
function placeHere(ex: Exchange, path: string, { fixed }: Parts): ServerUrl | null {
  // Or a proxy before the gateway has ended TLS. The worst that can come of it is a better scheme.
  const scheme = ex.request.get('x-forwarded-proto') === 'https' ? 'https' : schemeOf(ex.client)
  const here = serverUrlOf(scheme, ex.authority, path)
  return here === null || fixed === null ? here : { origin: fixed.origin, path: here.path }
}

// --- request time: tokens ---

const CREDENTIAL = credentialAt(BEARER)

function authenticate(ex: Exchange, parts: Parts): Verdict | Promise<Verdict> {
  const token = CREDENTIAL.find(ex)
  if (token === null) return parts.config.mode === 'Strict' ? deny(ex, 'JWT_MISSING', parts, '') : CONTINUE
  if (token === SEVERAL) return decide(ex, '', 'JWT_REPEATED', parts)
  const verdict = parts.verifier.check(token)
  if (!(verdict instanceof Promise)) return decide(ex, token, verdict, parts)
  // Only for a token that was not seen before: its signature is verified on another thread.
  return verdict.then((outcome) => (ex.step === STEP_REQUEST ? decide(ex, token, outcome, parts) : STOP))
}

/** In mode Permissive a token that is not valid identifies no caller. */
function decide(ex: Exchange, token: string, found: Claims | ErrorCode, parts: Parts): Verdict {
  const { mode, requiredScopes } = parts.config
  if (typeof found === 'string') {
    if (mode === 'Permissive') return CONTINUE
    CREDENTIAL.hide(ex)
    return deny(ex, found, parts, token)
  }
  CREDENTIAL.take(ex, token)
  const identity = identityOf(ex)
  identity.jwt = found
  identity.rawToken = token
  return mode === 'Permissive' || hasScopes(found, requiredScopes) ? CONTINUE : deny(ex, 'SCOPE_MISSING', parts, token)
}

const ERROR_NAMES: { readonly [code in ErrorCode]?: string } = {
  JWT_REPEATED: 'invalid_request',
  SCOPE_MISSING: 'insufficient_scope'
}

/** RFC 6750 section 3, RFC 9728 section 5.1: why, and where to look. */
function deny(ex: Exchange, code: ErrorCode, parts: Parts, token: string): Verdict {
  const { status, message } = ERRORS[code]
  const why: Detail = () => `${placeOf(ex, 'mcpAuthentication')}: ${whyNot(code, parts, token)}`
  if (status >= 500) return refuse(ex, code, ['Retry-After', '1'], why)
  const place = parts.fixed ?? placeHere(ex, ex.originalPath, parts)
  const { requiredScopes } = parts.config
  const fields = place === null ? [] : [`resource_metadata="${place.origin}${RESOURCE}${place.path}"`]
  if (requiredScopes.length > 0) fields.push(`scope="${requiredScopes.join(' ')}"`)
  // No error code for a request that shows no token.
  if (code !== 'JWT_MISSING') {
    fields.push(`error="${ERROR_NAMES[code] ?? 'invalid_token'}"`, `error_description="${message}"`)
  }
  return refuse(ex, code, ['WWW-Authenticate', `Bearer ${fields.join(', ')}`.trimEnd()], why)
}

/** For the log. */
function whyNot(code: ErrorCode, { config, verifier }: Parts, token: string): string {
  if (code === 'SCOPE_MISSING') return `requiredScopes are ${config.requiredScopes.join(' ')}`
  return code === 'JWT_MISSING' ? `no token in ${placeText(BEARER)}` : verifier.explain(token, code)
}

export const mcpAuthentication: Policy = {
  name: 'mcpAuthentication',
  section: 'traffic',
  schema,
  aliases: [],
  inResources: 'McpAuthentication',
  identifies: 'jwt',
  closed: CLOSED_ISSUER,
  alsoServes: wellKnownPrefixes,
  resolve,
  warnings,
  compile
}
