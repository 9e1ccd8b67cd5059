/**
 * spec.traffic.apiKeyAuthentication: callers show one of the configured keys (docs/specification.md#authentication). Of
 * a key only its SHA-256 is kept, from the schema on. Its metadata is ex.identity.apiKey; the key itself does not
 * reach the backend.
 */
import { hash as digestOf } from 'node:crypto'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import { type Claims, identityOf } from '#engine/contract/identity.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { reveal, type Secret, secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { deferred, list, refused, says, shortString, z } from '#engine/schema/schema.ts'
import {
  BEARER,
  credentialAt,
  credentialElsewhere,
  type Location,
  location,
  placeText,
  SEVERAL
} from '#policies/shared/credential.ts'
import { KeyedHash } from '#policies/shared/keyed-hash.ts'

type Mode = 'Strict' | 'Optional'

interface Key {
  /** SHA-256 of the key's bytes, in lower-case hexadecimal digits. Not a password: keys are long and random. */
  readonly hash: Secret
  readonly metadata: Claims
}

interface Config {
  readonly mode: Mode
  readonly location: Location
  /** No place is configured: that of the clients of a route's backends does too. */
  readonly isAnyPlace: boolean
  readonly keys: readonly Key[]
}

// --- schema ---

const MODES = ['Strict', 'Optional', 'strict', 'optional'] as const
/** The specification's secrets set no bound. */
const KEYS_MAX = 10_000
const KEY_CHARS_MAX = 1024
const NO_SECRETS = 'Kubernetes secrets cannot be read in this version: write keys'

const key = () =>
  oneOf(
    {
      key: z
        .string()
        .min(1)
        .max(KEY_CHARS_MAX)
        .regex(/^[^\0-\x1f\x7f]*$/, { error: says('must not have control characters: no request could carry them') })
        .refine((text) => text.trim() === text, 'must not begin or end with a blank: no request could carry it')
        .refine((text) => text.isWellFormed(), 'must be valid Unicode text')
        .optional(),
      keyHash: z
        .string()
        .regex(/^sha256:[0-9A-Fa-f]{64}$/, { error: says('must be "sha256:" and 64 hexadecimal digits') })
        .optional()
    },
    { metadata: z.json().optional(), allowedModels: refused("'allowedModels'") }
  ).transform(
    ({ key: raw, keyHash, metadata = {} }): Key => ({
      hash: secret(raw === undefined ? keyHash!.slice('sha256:'.length).toLowerCase() : digestOf('sha256', raw)),
      metadata: isRecord(metadata) ? metadata : { metadata }
    })
  )

/** Expressions read fields of `apiKey`: what has none is put into one. */
function isRecord(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const keys = () =>
  // A transformation and no refinement: it is for lists whose entries are sound.
  list(key(), 1, KEYS_MAX).transform((all, context) => {
    const first = new Map<string, number>()
    all.forEach(({ hash }, i) => {
      const other = first.get(reveal(hash))
      if (other === undefined) first.set(reveal(hash), i)
      else context.addIssue({ code: 'custom', path: [i], message: `is the same key as entry ${other} (from 0 on)` })
    })
    return all
  })

const noSecrets = () => z.strictObject({ name: shortString() }).refine(() => false, NO_SECRETS)

const noSelector = () =>
  z.strictObject({ matchLabels: z.record(z.string(), z.string()) }).refine(() => false, NO_SECRETS)

const schema = deferred(() =>
  oneOf(
    { keys: keys().optional(), secretRef: noSecrets().optional(), secretSelector: noSelector().optional() },
    { mode: z.enum(MODES).optional(), location: location().optional() }
  ).transform(
    (input): Config => ({
      mode: (input.mode ?? 'strict').toLowerCase() === 'strict' ? 'Strict' : 'Optional',
      location: input.location ?? BEARER,
      isAnyPlace: input.location === undefined,
      keys: input.keys!
    })
  )
)

// --- build time ---

function compile(config: Config): Compiled {
  const keyed = new KeyedHash()
  const known = new Map<string, Claims>()
  for (const { hash, metadata } of config.keys) known.set(keyed.of(reveal(hash)), metadata)
  const challenge = ['WWW-Authenticate', `${schemeOf(config.location)} realm="Restricted"`]
  return { filter: { onRequest: authenticate(config, keyed, known, challenge) } }
}

/** A 401 names a scheme (RFC 9110 section 11.6.1): that of the header's prefix if it has one, otherwise "ApiKey". */
function schemeOf(at: Location): string {
  const scheme = at.kind === 'header' && at.name === 'authorization' ? at.prefix.trimEnd() : ''
  return /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(scheme) ? scheme : 'ApiKey'
}

// --- request time ---

function authenticate(
  { mode, location: at, isAnyPlace }: Config,
  keyed: KeyedHash,
  known: ReadonlyMap<string, Claims>,
  challenge: readonly string[]
): Hook {
  const usual = credentialAt(at)
  // For the log: nothing of a key that was shown.
  const detail =
    (what: string): Detail =>
    (ex) =>
      `${placeOf(ex, 'apiKeyAuthentication')}: ${what}`
  const missing = detail(`no key in ${placeText(at)}`)
  const repeated = detail('more than one key')
  const wrong = detail(`the key that was shown is none of the ${known.size} that are known`)
  return (ex) => {
    const inUsual = usual.find(ex)
    const elsewhere = inUsual === null && isAnyPlace ? credentialElsewhere(ex) : null
    const credential = elsewhere ?? usual
    const found = elsewhere === null ? inUsual : elsewhere.find(ex)
    if (found === null) return mode === 'Strict' ? refuse(ex, 'API_KEY_MISSING', challenge, missing) : CONTINUE
    if (found === SEVERAL) {
      credential.hide(ex)
      return refuse(ex, 'API_KEY_REPEATED', null, repeated)
    }
    // Looked up by what no client can compute: how long that takes says nothing about the keys.
    const metadata = known.get(keyed.of(digestOf('sha256', Buffer.from(found, 'latin1'))))
    if (metadata === undefined) {
      // A key for the provider, which a client may bring along, stands in the same place.
      if (elsewhere !== null && mode === 'Optional') return CONTINUE
      // It may be right elsewhere, or by all but one character.
      credential.hide(ex)
      return refuse(ex, 'API_KEY_INVALID', challenge, wrong)
    }
    credential.take(ex, found)
    const identity = identityOf(ex)
    identity.apiKey = metadata
    identity.rawKey = found
    return CONTINUE
  }
}

export const apiKeyAuthentication: Policy = {
  name: 'apiKeyAuthentication',
  section: 'traffic',
  schema,
  aliases: [{ name: 'apiKey' }],
  identifies: 'apiKey',
  compile
}
