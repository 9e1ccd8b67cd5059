/**
 * spec.traffic.jwtAuthentication: callers show a token that one of the configured issuers has signed (spec 2.6
 * and section 5, RFC 7519, RFC 8725). Its claims are ex.jwt; the token itself does not reach the backend.
 */
import { hash } from 'node:crypto'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import { type Exchange, type Identity, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { type Background, CONTINUE, type Compiled, STOP, type Verdict } from '#engine/contract/filter.ts'
import { type CompileContext, FieldError, type Policy, type Sources } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { list, longString, says, shortString, whole, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { BEARER, type Credential, credentialAt, type Location, location, SEVERAL } from '#policies/shared/credential.ts'
import { KEY_SET_CHARS_MAX, readKeySet, readPublicKeySet } from '#policies/shared/jwt-keys.ts'
import { type Provider, TokenDesk, Verifier } from '#policies/shared/jwt-verifier.ts'
import { KeySources, keyWorld } from '#policies/shared/key-sources.ts'
import { fixedKeys } from '#policies/shared/remote-keys.ts'

type Mode = 'Strict' | 'Optional' | 'Permissive'
type Path = readonly PropertyKey[]

/** Where the keys of an issuer are; once resolved, inline or at a URL. */
type Keys =
  | { readonly kind: 'inline'; readonly text: string }
  | { readonly kind: 'url'; readonly url: string; readonly cacheMs: number }

/** `at`: where it is given, from the policy's own value on. */
type GivenKeys = Keys | (Reference & { readonly at: Path })
type Reference = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'remote' }

interface Issuer<K> {
  readonly issuer: string
  /** Null: any. */
  readonly audiences: readonly string[] | null
  readonly keys: K
}

interface Config<K = Keys> {
  readonly mode: Mode
  readonly issuers: readonly Issuer<K>[]
  readonly requiredClaims: readonly string[]
  readonly leewayMs: number
  readonly earlyMs: number
  readonly location: Location
}

// --- schema ---

const MODES = ['Strict', 'Optional', 'Permissive', 'strict', 'optional', 'permissive'] as const
const CACHE_MS = 300_000
/** Spec section 5, rule 2: a token past its exp is not valid. */
const LEEWAY_MS = 0
/** The spec says nothing of nbf and iat, and clocks differ: a token is often used in the second it is made. */
const EARLY_MS = 60_000
/** Spec 2.6, remote: `jwksPath`. */
const PATH_CHARS_MAX = 2000

const inlineKeys = () =>
  z
    .string()
    .min(2)
    .max(KEY_SET_CHARS_MAX)
    .superRefine((text, context) => {
      const problem = keySetProblem(text)
      // A key set begins with a brace; what does not is the name of a file, or an address.
      const hint = text.trimStart().startsWith('{') ? '' : '; a file is written { file: PATH }, an address { url: URL }'
      if (problem !== null) context.addIssue({ code: 'custom', message: problem + hint })
    })

const URL_EXPECTED = 'must be an http:// or https:// URL without user name and fragment'

const keysUrl = () =>
  z
    .string({ error: says(URL_EXPECTED) })
    .max(PATH_CHARS_MAX)
    .refine(isKeysUrl, URL_EXPECTED)

function isKeysUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '' && !text.includes('#')
}

const backendRef = () =>
  z.strictObject({
    group: z.string().max(253).optional(),
    kind: shortString().optional(),
    namespace: shortString().optional(),
    name: shortString(),
    port: whole(1, 65_535).optional()
  })

const keysObject = () =>
  oneOf(
    {
      inline: inlineKeys().optional(),
      file: longString().optional(),
      url: keysUrl().optional(),
      remote: z
        .strictObject({
          jwksPath: z.string().min(1).max(PATH_CHARS_MAX),
          cacheDuration: duration().optional(),
          backendRef: backendRef()
        })
        .optional()
    },
    { cacheDuration: duration().optional() }
  )
    .refine(({ url, cacheDuration }) => cacheDuration === undefined || url !== undefined, {
      when: sound(),
      path: ['cacheDuration'],
      error: 'belongs to url: only what is fetched has an age'
    })
    .transform(({ inline, file, url, cacheDuration = CACHE_MS }): Keys | Reference => {
      if (inline !== undefined) return { kind: 'inline', text: inline }
      if (file !== undefined) return { kind: 'file', path: file }
      return url === undefined ? { kind: 'remote' } : { kind: 'url', url, cacheMs: cacheDuration }
    })

/** The file's short form is the key set itself. */
const keys = () =>
  z.union([inlineKeys().transform((text): Keys | Reference => ({ kind: 'inline', text })), keysObject()], {
    error: (issue) => {
      if (issue.code !== 'invalid_union' || issue.input === undefined) return undefined
      // What is wrong with the form that was meant.
      return issue.errors[typeof issue.input === 'string' ? 0 : 1]?.[0]?.message
    }
  })

const issuerFields = () => ({
  audiences: list(longString(), 1, 64).optional(),
  jwks: keys()
})

const schema = oneOf(
  {
    providers: list(z.strictObject({ issuer: shortString(), ...issuerFields() }), 1, 64).optional(),
    issuer: shortString().optional()
  },
  {
    audiences: issuerFields().audiences,
    jwks: keys().optional(),
    mode: z.enum(MODES).optional(),
    leeway: duration().optional(),
    location: location().optional(),
    jwtValidationOptions: z.strictObject({ requiredClaims: list(shortString(), 0, 64).optional() }).optional()
  }
)
  .refine(({ issuer, jwks }) => issuer === undefined || jwks !== undefined, {
    path: ['jwks'],
    error: 'is required',
    when: sound()
  })
  .refine(({ issuer, jwks }) => issuer !== undefined || jwks === undefined, {
    when: sound(),
    path: ['jwks'],
    error: 'belongs to issuer: each of the providers says its own'
  })
  .refine(({ issuer, audiences }) => issuer !== undefined || audiences === undefined, {
    when: sound(),
    path: ['audiences'],
    error: 'belongs to issuer: each of the providers says its own'
  })
  .transform((given): Config<GivenKeys> => {
    const { providers, issuer, audiences = null, jwks } = given
    const several = providers?.map((provider, i) => ({
      issuer: provider.issuer,
      audiences: provider.audiences ?? null,
      keys: { ...provider.jwks, at: ['providers', i, 'jwks'] }
    }))
    return {
      mode: modeOf(given.mode ?? 'Strict'),
      issuers: several ?? [{ issuer: issuer!, audiences, keys: { ...jwks!, at: ['jwks'] } }],
      requiredClaims: given.jwtValidationOptions?.requiredClaims ?? ['exp'],
      leewayMs: given.leeway ?? LEEWAY_MS,
      earlyMs: given.leeway ?? EARLY_MS,
      location: given.location ?? BEARER
    }
  })

function modeOf(text: (typeof MODES)[number]): Mode {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}` as Mode
}

/** What is wrong with keys that are part of the configuration, or null. */
function keySetProblem(text: string): string | null {
  try {
    readPublicKeySet(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

// --- load time ---

function resolve(config: Config<GivenKeys>, sources: Sources): Config {
  return {
    ...config,
    issuers: config.issuers.map((issuer) => ({ ...issuer, keys: resolveKeys(issuer.keys, sources) }))
  }
}

function resolveKeys(given: GivenKeys, sources: Sources): Keys {
  if (given.kind === 'inline') return { kind: 'inline', text: given.text }
  if (given.kind === 'url') return { kind: 'url', url: given.url, cacheMs: given.cacheMs }
  if (given.kind === 'remote') {
    const message = 'Services and backends cannot be looked up in this version: give the whole address as jwks.url'
    throw new FieldError([...given.at, 'remote', 'backendRef'], message)
  }
  const { path, at } = given
  try {
    const text = sources.readFile(path)
    const problem = keySetProblem(text)
    if (problem === null) return { kind: 'inline', text }
    throw new Error(`${path}: ${problem}`)
  } catch (error) {
    throw new FieldError([...at, 'file'], (error as Error).message)
  }
}

// --- build time ---

const TOKENS = 'jwtAuthentication.tokens'
const KEYS = 'jwtAuthentication.keys'

function compile(config: Config, { kept, log }: CompileContext): Compiled {
  const sources = kept(KEYS, () => new KeySources(keyWorld(log)))
  const background: Background[] = []
  const providers = config.issuers.map(({ issuer, audiences, keys: given }): Provider => {
    const allowed = audiences === null ? null : new Set(audiences)
    if (given.kind === 'inline') return { issuer, audiences: allowed, keys: fixedKeys(readKeySet(given.text)) }
    const remote = sources.remote(given.url)
    background.push(remote.use(given.cacheMs))
    return { issuer, audiences: allowed, keys: remote }
  })
  const { mode, requiredClaims, leewayMs, earlyMs } = config
  // Everything that decides whether a token is valid, except keys: those have a fingerprint.
  const facts = config.issuers.map(({ issuer, audiences, keys: given }) => [
    issuer,
    audiences,
    given.kind,
    urlOf(given)
  ])
  const id = hash('sha256', JSON.stringify([facts, requiredClaims, leewayMs, earlyMs]), 'base64')
  const desk = kept(TOKENS, () => new TokenDesk())
  const verifier = new Verifier({ id, providers, desk, requiredClaims, leewayMs, earlyMs })
  return {
    filter: { onRequest: authenticate(mode, credentialAt(config.location), verifier) },
    ...(background.length === 0 ? {} : { background: together(background) })
  }
}

function urlOf(given: Keys): string | null {
  return given.kind === 'url' ? given.url : null
}

function together(parts: readonly Background[]): Background {
  return {
    begin: () => parts.forEach((part) => void part.begin()),
    end: () => parts.forEach((part) => void part.end())
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

function authenticate(mode: Mode, credential: Credential, verifier: Verifier) {
  return (ex: Exchange): Verdict | Promise<Verdict> => {
    const token = credential.find(ex)
    if (token === null) return mode === 'Strict' ? refuse(ex, 'JWT_MISSING', NO_TOKEN) : CONTINUE
    if (token === SEVERAL) return decide(ex, '', 'JWT_REPEATED', mode, credential)
    const answer = verifier.check(token)
    if (!(answer instanceof Promise)) return decide(ex, token, answer, mode, credential)
    // Only for a token that was not seen before: its signature is verified on another thread.
    return answer.then((outcome) => {
      // The client has gone or a timeout has answered: that answer is not to be changed.
      if (ex.step !== STEP_REQUEST) return STOP
      return decide(ex, token, outcome, mode, credential)
    })
  }
}

/** In mode Permissive a token that is not valid is nobody's: it stays where it is, for whoever understands it. */
function decide(
  ex: Exchange,
  token: string,
  answer: Identity | ErrorCode,
  mode: Mode,
  credential: Credential
): Verdict {
  if (typeof answer === 'string') {
    if (mode === 'Permissive') return CONTINUE
    // One for another audience works there.
    credential.hide(ex)
    return refuse(ex, answer, CHALLENGES.get(answer) ?? LATER)
  }
  credential.take(ex, token)
  ex.jwt = answer
  ex.rawToken = token
  return CONTINUE
}

export const jwtAuthentication: Policy = {
  name: 'jwtAuthentication',
  section: 'traffic',
  schema,
  aliases: [{ name: 'jwtAuth' }],
  identifies: 'jwt',
  resolve,
  compile
}
