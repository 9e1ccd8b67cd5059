/**
 * spec.traffic.jwtAuthentication: callers show a token that one of the configured issuers has signed
 * (docs/specification.md#authentication, RFC 7519, RFC 8725). Its claims are ex.identity.jwt; the token itself
 * does not reach the backend.
 */

import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import { type Exchange, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { type Claims, identityOf } from '#engine/contract/identity.ts'
import type { CompileContext, Compiled, Policy, Sources } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { deferred, list, longString, shortString, z } from '#engine/schema/schema.ts'
import { onlyInFiles, words } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import {
  BEARER,
  type Credential,
  credentialAt,
  credentialElsewhere,
  type Location,
  location,
  placeText,
  SEVERAL
} from '#policies/shared/credential.ts'
import type { Verifier } from '#policies/shared/jwt-verifier.ts'
import { asNobody } from '#policies/shared/nobody.ts'
import {
  CLOSED_ISSUER,
  EARLY_MS,
  type Issuer,
  type KeyConfig,
  type Keys,
  keys,
  LEEWAY_MS,
  MODES,
  type Mode,
  modeOf,
  resolveKeys,
  tokenVerifier
} from '#policies/shared/token-rules.ts'

interface Config<K = Keys> {
  readonly mode: Mode
  readonly issuers: readonly Issuer<K>[]
  readonly requiredClaims: readonly string[]
  readonly leewayMs: number
  readonly earlyMs: number
  readonly location: Location
  /** No place is configured: that of the clients of a route's backends does too. */
  readonly isAnyPlace: boolean
}

// --- schema ---

const issuerFields = () => ({
  audiences: list(longString(), 1, 64).optional(),
  jwks: keys()
})

const schema = deferred(() =>
  oneOf(
    {
      providers: list(z.strictObject({ issuer: shortString(), ...issuerFields() }), 1, 64).optional(),
      issuer: onlyInFiles(shortString().optional())
    },
    {
      audiences: onlyInFiles(issuerFields().audiences),
      jwks: onlyInFiles(keys().optional()),
      mode: words(MODES, 'Strict').optional(),
      leeway: duration().optional(),
      location: location().optional(),
      jwtValidationOptions: z.strictObject({ requiredClaims: list(shortString(), 0, 64).optional() }).optional()
    }
  )
    .refine(({ issuer, jwks }) => issuer === undefined || jwks !== undefined, {
      path: ['jwks'],
      error: 'is required',
      when: sound(),
      params: ONLY_FILES
    })
    .refine(({ issuer, jwks }) => issuer !== undefined || jwks === undefined, {
      when: sound(),
      path: ['jwks'],
      error: 'belongs to issuer: each of the providers says its own',
      params: ONLY_FILES
    })
    .refine(({ issuer, audiences }) => issuer !== undefined || audiences === undefined, {
      when: sound(),
      path: ['audiences'],
      error: 'belongs to issuer: each of the providers says its own',
      params: ONLY_FILES
    })
    .transform((input): Config<KeyConfig> => {
      const { providers, issuer, audiences = null, jwks } = input
      const several = providers?.map((provider, i) => ({
        issuer: provider.issuer,
        audiences: provider.audiences ?? null,
        keys: { ...provider.jwks, at: ['providers', i, 'jwks'] }
      }))
      return {
        mode: modeOf(input.mode ?? 'Strict'),
        issuers: several ?? [{ issuer: issuer!, audiences, keys: { ...jwks!, at: ['jwks'] } }],
        requiredClaims: input.jwtValidationOptions?.requiredClaims ?? ['exp'],
        leewayMs: input.leeway ?? LEEWAY_MS,
        earlyMs: input.leeway ?? EARLY_MS,
        location: input.location ?? BEARER,
        isAnyPlace: input.location === undefined
      }
    })
)

// --- load time ---

function resolve(config: Config<KeyConfig>, sources: Sources): Config {
  return {
    ...config,
    issuers: config.issuers.map((issuer) => ({ ...issuer, keys: resolveKeys(issuer.keys, sources) }))
  }
}

// --- build time ---

function compile(config: Config, context: CompileContext): Compiled {
  const { verifier, background } = tokenVerifier(config, context)
  return {
    filter: { onRequest: authenticate(config, credentialAt(config.location), verifier) },
    ...(background === null ? {} : { background })
  }
}

/** RFC 6750 section 3: no error code for a request that shows no token. */
const REALM = 'Bearer realm="Restricted"'
const NO_TOKEN = ['WWW-Authenticate', REALM] as const

/** Neither is the client's fault, and both pass. */
const LATER = ['Retry-After', '1'] as const

/** Headers of a refusal by its code; made once, and of nothing that a client has sent. */
const CHALLENGES: ReadonlyMap<ErrorCode, readonly string[]> = new Map(
  (Object.keys(ERRORS) as ErrorCode[])
    .filter((code) => code.startsWith('JWT_') && ERRORS[code].status < 500)
    .map((code) => {
      const error = code === 'JWT_REPEATED' ? 'invalid_request' : 'invalid_token'
      const description = ERRORS[code].message
      return [code, ['WWW-Authenticate', `${REALM}, error="${error}", error_description="${description}"`]]
    })
)

// --- request time ---

/** A key of another kind, in a place of keys, is no token: it may be the provider's. */
const LIKE_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/

function tokenElsewhere(ex: Exchange): Credential | null {
  const credential = credentialElsewhere(ex)
  const found = credential?.find(ex)
  return typeof found === 'string' && LIKE_TOKEN.test(found) ? credential : null
}

function authenticate(
  { mode, isAnyPlace, location }: Pick<Config, 'mode' | 'isAnyPlace' | 'location'>,
  usual: Credential,
  verifier: Verifier
) {
  const missing: Detail = (ex) => `${placeOf(ex, 'jwtAuthentication')}: no token in ${placeText(location)}`
  return (ex: Exchange): Verdict | Promise<Verdict> => {
    const inUsual = usual.find(ex)
    const elsewhere = inUsual === null && isAnyPlace ? tokenElsewhere(ex) : null
    const credential = elsewhere ?? usual
    const token = elsewhere === null ? inUsual : elsewhere.find(ex)
    if (token === null) return mode === 'Strict' ? refuse(ex, 'JWT_MISSING', NO_TOKEN, missing) : asNobody(ex)
    if (token === SEVERAL) return decide(ex, '', 'JWT_REPEATED', mode, credential, verifier)
    const answer = verifier.check(token)
    if (!(answer instanceof Promise)) return decide(ex, token, answer, mode, credential, verifier)
    // Only for a token that was not seen before: its signature is verified on another thread.
    return answer.then((outcome) => {
      // The client has gone or a timeout has answered: that answer is not to be changed.
      if (ex.step !== STEP_REQUEST) return STOP
      return decide(ex, token, outcome, mode, credential, verifier)
    })
  }
}

/** In mode Permissive a token that is not valid stays where it is, for a backend that may understand it. */
function decide(
  ex: Exchange,
  token: string,
  answer: Claims | ErrorCode,
  mode: Mode,
  credential: Credential,
  verifier: Verifier
): Verdict {
  if (typeof answer === 'string') {
    if (mode === 'Permissive') return asNobody(ex)
    // One for another audience works there.
    credential.hide(ex)
    // A refused token has cost a hash at least: that its claims are kept for the log is little beside it.
    const why: Detail = () => `${placeOf(ex, 'jwtAuthentication')}: ${verifier.explain(token, answer)}`
    return refuse(ex, answer, CHALLENGES.get(answer) ?? LATER, why)
  }
  credential.take(ex, token)
  const identity = identityOf(ex)
  identity.jwt = answer
  identity.rawToken = token
  return CONTINUE
}

export const jwtAuthentication: Policy = {
  name: 'jwtAuthentication',
  section: 'traffic',
  schema,
  aliases: [{ name: 'jwtAuth' }],
  identifies: 'jwt',
  closed: { providers: [CLOSED_ISSUER] },
  resolve,
  compile
}
