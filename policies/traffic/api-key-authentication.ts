/**
 * spec.traffic.apiKeyAuthentication: callers show one of the configured keys (docs/specification.md#authentication). Of
 * a key only its SHA-256 is kept, from the schema on. Its metadata is ex.identity.apiKey; the key itself does not
 * reach the backend.
 */

import { hash as digestOf } from 'node:crypto'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { Claims } from '#engine/contract/identity.ts'
import { type Compiled, FieldError, type Policy, type Sources } from '#engine/contract/policy.ts'
import type { NamedSecret } from '#engine/contract/secrets.ts'
import { parseJson } from '#engine/kit/json.ts'
import { KeyedHash } from '#engine/kit/keyed-hash.ts'
import { reveal, type Secret, secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { deferred, list, refused, says, z } from '#engine/schema/schema.ts'
import { secretRef, secretSelector } from '#engine/schema/secret-ref.ts'
import { onlyInFiles, words } from '#engine/schema/spelling.ts'
import { BEARER, type Location, location } from '#policies/shared/credential.ts'
import { readKey } from '#policies/shared/read-key.ts'

type Mode = 'Strict' | 'Optional'

interface Key {
  /** SHA-256 of the key's bytes, in lower-case hexadecimal digits. Not a password: keys are long and random. */
  readonly hash: Secret
  readonly metadata: Claims
}

/** Written in the configuration, or the secrets that hold them. */
type KeySource = readonly Key[] | { readonly secret: string } | { readonly labels: Readonly<Record<string, string>> }

interface Config<K = readonly Key[]> {
  readonly mode: Mode
  readonly location: Location
  /** No place is configured: that of the clients of a route's backends does too. */
  readonly isAnyPlace: boolean
  readonly keys: K
}

// --- schema ---

const MODES = ['Strict', 'Optional'] as const
/** The specification's secrets set no bound. */
const KEYS_MAX = 10_000
const KEY_CHARS_MAX = 1024

const WITHOUT_CONTROLS = /^[^\0-\x1f\x7f]*$/

const plainKey = () =>
  z
    .string()
    .min(1)
    .max(KEY_CHARS_MAX)
    .regex(WITHOUT_CONTROLS, { error: says('must not have control characters: no request could carry them') })
    .refine((text) => text.trim() === text, 'must not begin or end with a blank: no request could carry it')
    .refine((text) => text.isWellFormed(), 'must be valid Unicode text')

const key = () =>
  oneOf(
    {
      key: plainKey().optional(),
      keyHash: z
        .string()
        .regex(/^sha256:[0-9A-Fa-f]{64}$/, { error: says('must be "sha256:" and 64 hexadecimal digits') })
        .optional()
    },
    { metadata: z.json().optional(), allowedModels: refused("'allowedModels'") }
  ).transform(
    ({ key: raw, keyHash, metadata = {} }): Key => ({
      hash: raw === undefined ? secret(keyHash!.slice('sha256:'.length).toLowerCase()) : hashOf(raw),
      metadata: isRecord(metadata) ? metadata : { metadata }
    })
  )

const hashOf = (raw: string): Secret => secret(digestOf('sha256', raw))

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

const schema = deferred(() =>
  oneOf(
    {
      keys: onlyInFiles(keys().optional()),
      secretRef: secretRef('one API key for each entry').optional(),
      secretSelector: secretSelector().optional()
    },
    { mode: words(MODES, 'Strict').optional(), location: location().optional() }
  ).transform(
    (input): Config<KeySource> => ({
      mode: (input.mode ?? 'strict').toLowerCase() === 'strict' ? 'Strict' : 'Optional',
      location: input.location ?? BEARER,
      isAnyPlace: input.location === undefined,
      keys: input.keys ?? heldBy(input.secretRef, input.secretSelector)
    })
  )
)

function heldBy(
  ref: { readonly name: string } | undefined,
  selector: { readonly matchLabels: Readonly<Record<string, string>> } | undefined
): KeySource {
  return ref === undefined ? { labels: selector!.matchLabels } : { secret: ref.name }
}

// --- load time ---

const KEY = deferred(key)
const PLAIN = deferred(plainKey)

function resolve(config: Config<KeySource>, { secrets }: Sources): Config {
  const { keys: source } = config
  if ('secret' in source) {
    return { ...config, keys: keysIn(['secretRef', 'name'], () => [secrets.get(source.secret)]) }
  }
  if (!('labels' in source)) return { ...config, keys: source }
  const at = ['secretSelector', 'matchLabels']
  return { ...config, keys: keysIn(at, () => secrets.select(source.labels)) }
}

/** Throws a FieldError for `at`: for lack of secrets, or for an entry that is no key. */
function keysIn(at: readonly string[], find: () => readonly NamedSecret[]): readonly Key[] {
  try {
    const found = find()
    if (found.length === 0) throw new Error('no secret has all of these labels')
    const all = found.flatMap(({ name, entries }) =>
      [...entries].map(([entry, value]) => {
        const place = `'${entry}' of secret '${name}'`
        return { place, key: keyIn(value, place) }
      })
    )
    if (all.length > KEYS_MAX) throw new Error(`there are ${all.length} keys; the limit is ${KEYS_MAX}`)
    const seen = new Map<string, string>()
    for (const { place, key: held } of all) {
      const other = seen.get(reveal(held.hash))
      if (other !== undefined) throw new Error(`${place} is the same key as ${other}`)
      seen.set(reveal(held.hash), place)
    }
    return all.map(({ key: held }) => held)
  } catch (error) {
    throw new FieldError(at, (error as Error).message)
  }
}

/** What `plainKey` accepts: a secret may hold 10,000, and its schema takes 30 us for each. */
function isPlainKey(held: string): boolean {
  const isBounded = held.length > 0 && held.length <= KEY_CHARS_MAX
  return isBounded && WITHOUT_CONTROLS.test(held) && held.trim() === held && held.isWellFormed()
}

/** `value`: the key itself, or JSON of an entry of `keys`. What is wrong with it is said without it. */
function keyIn(value: string, place: string): Key {
  // Files end with a line feed that is no part of what they hold.
  const held = value.replace(/\r?\n$/, '')
  const isJson = held.trimStart().startsWith('{')
  if (!isJson && isPlainKey(held)) return { hash: hashOf(held), metadata: {} }
  const plain = isJson ? parseJson(held) : { key: PLAIN.safeParse(held).data }
  const result = KEY.safeParse(plain)
  if (result.success) return result.data
  const wanted = 'must be an API key, or a JSON object with key and metadata'
  const [problem] = (isJson ? result : PLAIN.safeParse(held)).error?.issues ?? []
  const why = problem === undefined || problem.code === 'unrecognized_keys' ? '' : `: ${problem.message}`
  throw new Error(`${place} ${wanted}${why}`)
}

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
  return readKey({
    policy: 'apiKeyAuthentication',
    ...{ mode, location: at, isAnyPlace, challenge },
    unknown: `the key that was shown is none of the ${known.size} that are known`,
    // Looked up by what no client can compute: how long that takes says nothing about the keys.
    find: (text) => known.get(keyed.of(digestOf('sha256', Buffer.from(text, 'latin1')))),
    claimsOf: (metadata) => metadata,
    accept: () => CONTINUE
  })
}

export const apiKeyAuthentication: Policy = {
  name: 'apiKeyAuthentication',
  section: 'traffic',
  schema,
  aliases: [{ name: 'apiKey' }],
  identifies: 'apiKey',
  // No key is known that has this hash.
  closed: { keys: [{ keyHash: `sha256:${'0'.repeat(64)}` }] },
  resolve,
  compile
}
