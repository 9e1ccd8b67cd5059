/**
 * Who issues tokens, where their keys are, and what makes a token valid: what policies that verify tokens share
 * (docs/specification.md#authentication; RFC 7519, RFC 8725).
 */

import { hash } from 'node:crypto'
import { type Background, together } from '#engine/contract/background.ts'
import { type CompileContext, FieldError, type Sources } from '#engine/contract/policy.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { Lru } from '#engine/kit/lru.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { cel, enforcedAs, ONLY_FILES, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { longString, says, z } from '#engine/schema/schema.ts'
import { namesService, serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { filledIn, inResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import { fetchKeys, fetchKeysFrom } from './fetch-keys.ts'
import { KEY_SET_CHARS_MAX, readKeySet, readPublicKeySet } from './jwt-keys.ts'
import { type Provider, TokenChecks, Verifier } from './jwt-verifier.ts'
import { type IdentifiedPlace, KeySources } from './key-sources.ts'
import { fixedKeys } from './remote-keys.ts'
import { MIN_RSA_EXPONENT, type MinRsaExponent } from './weak-keys.ts'

export type Mode = 'Strict' | 'Optional' | 'Permissive'
type Path = readonly PropertyKey[]

/** Keys that are fetched. */
interface Fetched {
  readonly cacheMs: number
  readonly exponentMin: MinRsaExponent
}

interface KeysAtUrl extends Fetched {
  readonly kind: 'url'
  readonly url: string
}

/** `path`: from the root of the service, with its query. */
interface KeysOfService extends Fetched {
  readonly kind: 'service'
  readonly service: ServiceRef
  readonly path: string
}

/** Where the keys of an issuer are, once files are read. */
export type Keys = { readonly kind: 'inline'; readonly text: string } | KeysAtUrl | KeysOfService

/** `at`: where it is given, from the policy's own value on. */
export type KeyConfig = Keys | ((Keys | KeyFile) & { readonly at: Path })

interface KeyFile {
  readonly kind: 'file'
  readonly path: string
  readonly exponentMin: MinRsaExponent
}

export interface Issuer<K = Keys> {
  readonly issuer: string
  /** Null: any. */
  readonly audiences: readonly string[] | null
  readonly keys: K
}

/** What makes a token valid. */
export interface TokenRules {
  readonly issuers: readonly Issuer[]
  readonly requiredClaims: readonly string[]
  readonly leewayMs: number
  readonly earlyMs: number
}

// --- schema ---

export const MODES = ['Strict', 'Optional', 'Permissive'] as const
const CACHE_MS = 300_000
/** A token past its exp is not valid (docs/specification.md#authentication). */
export const LEEWAY_MS = 0
/** The specification says nothing of nbf and iat, and clocks differ: a token is often used in the second it is made. */
export const EARLY_MS = 60_000
/** No one has the private key: this public one is a hash of a sentence. */
export const CLOSED_ISSUER = {
  issuer: 'https://closed.invalid',
  jwks: { inline: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"1Xg-3wVG1_Ur2vwXXefh_fvEoOlaXZkHsME37toc2BU"}]}' }
} as const
/** `jwksPath` (docs/specification.md#authentication). */
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
    }, enforcedAs(ONLY_GATEWAY))

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

const JWKS_PATH_EXPECTED = 'must be a path from the root of the backend, without spaces and fragment'

const jwksPath = () =>
  z
    .string()
    .min(1)
    .max(PATH_CHARS_MAX)
    .regex(/^[!"$-~]+$/, JWKS_PATH_EXPECTED)
    .refine((text) => !/^[a-z]+:\/\//i.test(text), {
      error: `${JWKS_PATH_EXPECTED}; a whole address is written { url: URL }`,
      params: cel("!self.contains('://')", { message: JWKS_PATH_EXPECTED })
    })
    .describe('From the root of the backend, for example .well-known/jwks.json.')

/** RemoteJWKS (docs/specification.md#authentication). */
export const remoteKeys = () =>
  z
    .strictObject({ ...serviceFields, jwksPath: jwksPath(), cacheDuration: filledIn(duration(), '5m').optional() })
    .check(namesService())
    .transform(({ jwksPath: path, cacheDuration: cacheMs = CACHE_MS, ...named }) => ({
      service: serviceOf(named),
      path: path.startsWith('/') ? path : `/${path}`,
      cacheMs
    }))

const keysObject = () =>
  oneOf(
    {
      inline: inlineKeys().optional(),
      file: onlyInFiles(longString().optional()),
      url: onlyInFiles(keysUrl().optional()),
      remote: remoteKeys().optional()
    },
    {
      cacheDuration: onlyInFiles(duration().optional()),
      minRsaExponent: z
        .literal([3, 65_537], { error: 'must be 3 or 65537' })
        .optional()
        .describe('RSA keys with a smaller public exponent are not taken. Default 3.')
        .meta({ examples: [65_537] })
    }
  )
    .refine(({ inline, minRsaExponent }) => inline === undefined || keySetProblem(inline, minRsaExponent) === null, {
      when: sound(),
      path: ['inline'],
      error: ({ input }) => {
        const { inline, minRsaExponent } = input as { inline: string; minRsaExponent?: MinRsaExponent }
        return keySetProblem(inline, minRsaExponent) ?? ''
      },
      params: ONLY_GATEWAY
    })
    .refine(({ url, cacheDuration }) => cacheDuration === undefined || url !== undefined, {
      when: sound(),
      path: ['cacheDuration'],
      error: 'belongs to url: only what is fetched has an age, and remote says its own',
      params: ONLY_FILES
    })
    .transform(({ inline, file, url, remote, cacheDuration = CACHE_MS, minRsaExponent }): Keys | KeyFile => {
      const exponentMin = minRsaExponent ?? MIN_RSA_EXPONENT
      if (inline !== undefined) return { kind: 'inline', text: inline }
      if (file !== undefined) return { kind: 'file', path: file, exponentMin }
      return url === undefined
        ? { kind: 'service', ...remote!, exponentMin }
        : { kind: 'url', url, cacheMs: cacheDuration, exponentMin }
    })

/** The file's short form is the key set itself. */
export const keys = () => {
  const whole = keysObject()
  const short = inlineKeys().transform((text): Keys | KeyFile => ({ kind: 'inline', text }))
  const either = z.union([short, whole], {
    error: (issue) => {
      if (issue.code !== 'invalid_union' || issue.input === undefined) return undefined
      // What is wrong with the form that was meant.
      return issue.errors[typeof issue.input === 'string' ? 0 : 1]?.[0]?.message
    }
  })
  return inResources(either, whole)
}

export function modeOf(text: (typeof MODES)[number] | Uncapitalize<(typeof MODES)[number]>): Mode {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}` as Mode
}

/** A set is checked by its resource, by the configuration and with each reload; a key takes 50 us. */
const goodSets = new Lru<string, true>(1_024)

/** What is wrong with keys that are part of the configuration, or null. */
function keySetProblem(text: unknown, exponentMin?: MinRsaExponent): string | null {
  // Checks of an object run beside those of its fields, of which one has said so.
  if (typeof text !== 'string') return null
  const digest = `${exponentMin} ${hash('sha256', text, 'base64')}`
  if (goodSets.get(digest) === true) return null
  try {
    readPublicKeySet(text, exponentMin)
    goodSets.set(digest, true)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

// --- load time ---

export function resolveKeys(keyConfig: KeyConfig, sources: Sources): Keys {
  if (keyConfig.kind === 'inline') return { kind: 'inline', text: keyConfig.text }
  if (keyConfig.kind === 'url') {
    const { url, cacheMs, exponentMin } = keyConfig
    return { kind: 'url', url, cacheMs, exponentMin }
  }
  if (keyConfig.kind === 'service') {
    const { service, path, cacheMs, exponentMin, at = [] } = keyConfig as KeysOfService & { readonly at?: Path }
    return { kind: 'service', service: placedIn([...at, 'remote'], service), path, cacheMs, exponentMin }
  }
  const { path, at, exponentMin } = keyConfig
  try {
    const text = sources.readFile(path)
    const problem = keySetProblem(text, exponentMin)
    if (problem === null) return { kind: 'inline', text }
    throw new Error(`${path}: ${problem}`)
  } catch (error) {
    throw new FieldError([...at, 'file'], (error as Error).message)
  }
}

/** Errors of a service name stand where it does: from the policy's own value on. */
function placedIn(at: Path, service: ServiceRef): ServiceRef {
  return 'name' in service ? { ...service, at: [...at, ...service.at] } : service
}

// --- build time ---

const TOKENS = 'jwtAuthentication.tokens'
const KEYS = 'jwtAuthentication.keys'

/** Keys of issuers are fetched as long as `background` runs. Caches are shared by all policies of a thread. */
export function tokenVerifier(
  rules: TokenRules,
  { state, log, time, services }: CompileContext
): { readonly verifier: Verifier; readonly background: Background | null } {
  const sources = state(KEYS, () => new KeySources({ ...time, log }))
  const background: Background[] = []
  const providers = rules.issuers.map(({ issuer, audiences, keys: keyConfig }): Provider => {
    const allowed = audiences === null ? null : new Set(audiences)
    if (keyConfig.kind === 'inline') return { issuer, audiences: allowed, keys: fixedKeys(readKeySet(keyConfig.text)) }
    const remote = sources.remote(placeOf(keyConfig, services), keyConfig.cacheMs)
    background.push(remote.use)
    return { issuer, audiences: allowed, keys: remote.keys }
  })
  const { requiredClaims, leewayMs, earlyMs } = rules
  // Everything that decides whether a token is valid, except keys: those have a fingerprint.
  const facts = rules.issuers.map(({ issuer, audiences, keys: keyConfig }) => [
    issuer,
    audiences,
    keyConfig.kind,
    addressOf(keyConfig)
  ])
  const id = hash('sha256', JSON.stringify([facts, requiredClaims, leewayMs, earlyMs]), 'base64')
  const checks = state(TOKENS, () => new TokenChecks())
  const verifier = new Verifier({ id, providers, checks, time, requiredClaims, leewayMs, earlyMs })
  return { verifier, background: background.length === 0 ? null : together(background) }
}

function placeOf(keyConfig: KeysAtUrl | KeysOfService, services: CompileContext['services']): IdentifiedPlace {
  const { exponentMin } = keyConfig
  if (keyConfig.kind === 'url') {
    const { url } = keyConfig
    const { origin, pathname } = new URL(url)
    return { id: [exponentMin, url], name: origin + pathname, fetch: (signal) => fetchKeys(url, signal, exponentMin) }
  }
  const { path } = keyConfig
  const service = services.http(keyConfig.service)
  return {
    id: [exponentMin, service.name, service.definition, path],
    name: `${service.name}${path.replace(/\?.*/, '')}`,
    fetch: (signal) => fetchKeysFrom(service, path, signal, exponentMin)
  }
}

function addressOf(keyConfig: Keys): unknown {
  if (keyConfig.kind === 'url') return keyConfig.url
  return keyConfig.kind === 'service' ? [keyConfig.service, keyConfig.path] : null
}
