/**
 * spec.traffic.virtualKeys: callers show a key of the configuration's `keys`, of the API, or of secrets; what the
 * key, its
 * team and its organisation may use and spend holds for the call (docs/design/045-keys-and-money.md). Its owner, team,
 * tags and metadata are ex.identity.apiKey; the key itself does not reach the backend.
 */
import { KEYS_MAX, keysSchema, plainKeySchema, secretKeySchema } from '#engine/accounts/schema.ts'
import {
  type AccountQuota,
  type AccountRefusal,
  type Key,
  type KeySpec,
  refusalFields
} from '#engine/contract/accounts.ts'
import { placeOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import {
  type CompileContext,
  type Compiled,
  FieldError,
  type Policy,
  type Sources,
  type WarningContext
} from '#engine/contract/policy.ts'
import { refuse, setRefusalMessage } from '#engine/contract/refuse.ts'
import type { NamedSecret } from '#engine/contract/secrets.ts'
import { Slot } from '#engine/contract/slot.ts'
import { parseJson } from '#engine/kit/json.ts'
import { reveal } from '#engine/kit/secret.ts'
import { atMostOne } from '#engine/schema/choice.ts'
import { deferred, z } from '#engine/schema/schema.ts'
import { secretRef, secretSelector } from '#engine/schema/secret-ref.ts'
import { onlyInFiles, words } from '#engine/schema/spelling.ts'
import { BEARER, type Location, location } from '#policies/shared/credential.ts'
import { noteQuota, QUOTA, writeQuota } from '#policies/shared/quota.ts'
import { detailOf, readKey } from '#policies/shared/read-key.ts'

type KeySource =
  | readonly KeySpec[]
  | { readonly secret: string }
  | { readonly labels: Readonly<Record<string, string>> }

interface Config<K = readonly KeySpec[]> {
  readonly mode: 'Strict' | 'Optional'
  readonly location: Location
  /** No place is configured: that of the clients of a route's backends does too. */
  readonly isAnyPlace: boolean
  readonly allowsUnknownPrice: boolean
  /** Keys that are valid here alone; null: those of the configuration and of the API. */
  readonly keys: K | null
}

// --- schema ---

const schema = deferred(() =>
  z
    .strictObject({
      mode: words(['Strict', 'Optional'], 'Strict')
        .optional()
        .describe('Optional: who shows no key passes, without limits. Default Strict.'),
      location: location()
        .optional()
        .describe(
          "Where the key stands. Default: Authorization: Bearer, or where clients of the route's models have it."
        ),
      keys: onlyInFiles(keysSchema().optional()).describe('Keys that are valid here alone. Default: those at the top.'),
      secretRef: secretRef('one key for each entry').optional(),
      secretSelector: secretSelector().optional(),
      unknownPrice: words(['Refuse', 'Allow'], 'Refuse')
        .optional()
        .describe('What becomes of calls without a known price, of keys with a budget. Default Refuse.')
    })
    .check(atMostOne(SOURCES, ['secretRef', 'secretSelector']))
    .transform(
      (input): Config<KeySource> => ({
        mode: isWord(input.mode, 'optional') ? 'Optional' : 'Strict',
        location: input.location ?? BEARER,
        isAnyPlace: input.location === undefined,
        allowsUnknownPrice: isWord(input.unknownPrice, 'allow'),
        keys: input.keys ?? sourceOf(input.secretRef, input.secretSelector)
      })
    )
)

const SOURCES = ['keys', 'secretRef', 'secretSelector'] as const

const isWord = (text: string | undefined, word: string): boolean => text?.toLowerCase() === word

function sourceOf(
  ref: { readonly name: string } | undefined,
  selector: { readonly matchLabels: Readonly<Record<string, string>> } | undefined
): KeySource | null {
  if (ref !== undefined) return { secret: ref.name }
  return selector === undefined ? null : { labels: selector.matchLabels }
}

// --- load time ---

function resolve(config: Config<KeySource>, { secrets }: Sources): Config {
  const { keys: source } = config
  if (source === null || !isHeld(source)) return { ...config, keys: source }
  if ('secret' in source) return { ...config, keys: keysIn(['secretRef', 'name'], () => [secrets.get(source.secret)]) }
  return { ...config, keys: keysIn(['secretSelector', 'matchLabels'], () => secrets.select(source.labels)) }
}

const isHeld = (source: KeySource): source is Exclude<KeySource, readonly KeySpec[]> => !Array.isArray(source)

/** Throws a FieldError for `at`: for lack of secrets, or for an entry that is no key. */
function keysIn(at: readonly string[], find: () => readonly NamedSecret[]): readonly KeySpec[] {
  try {
    const found = find()
    if (found.length === 0) throw new Error('no secret has all of these labels')
    const all = found.flatMap(({ name, entries }) =>
      [...entries].map(([entry, value]) => {
        const place = `'${entry}' of secret '${name}'`
        return { place, key: keyIn(value, place, `${name}.${entry}`) }
      })
    )
    if (all.length > KEYS_MAX) throw new Error(`there are ${all.length} keys; the limit is ${KEYS_MAX}`)
    const seen = new Map<string, string>()
    for (const { place, key } of all) {
      for (const sign of [`name ${key.name}`, `value ${reveal(key.values[0]!.hash)}`]) {
        const other = seen.get(sign)
        if (other !== undefined) throw new Error(`${place} is the same key as ${other}, or has the same name`)
        seen.set(sign, place)
      }
    }
    return all.map(({ key }) => key)
  } catch (error) {
    throw new FieldError(at, (error as Error).message)
  }
}

/** `value`: the key itself, or JSON of an entry of `keys`. What is wrong with it is said without it. */
function keyIn(value: string, place: string, usualName: string): KeySpec {
  // Files end with a line feed that is no part of what they hold.
  const held = value.replace(/\r?\n$/, '')
  const isJson = held.trimStart().startsWith('{')
  const result = secretKeySchema().safeParse(isJson ? parseJson(held) : { key: plainKeySchema().safeParse(held).data })
  if (result.success) return result.data(usualName)
  const [problem] = (isJson ? result : plainKeySchema().safeParse(held)).error?.issues ?? []
  const where = problem?.path.length ? `${problem.path.join('.')} ` : ''
  const why = problem === undefined || problem.code === 'unrecognized_keys' ? '' : `: ${where}${problem.message}`
  throw new Error(`${place} must be a key, or a JSON object with key and what else keys have${why}`)
}

// --- build time ---

function compile(config: Config, { accounts, time }: CompileContext): Compiled {
  const own = config.keys === null ? null : new Set(config.keys.map(({ name }) => name))
  const known = (key: Key | undefined) => (key !== undefined && (own?.has(key.name) ?? key.isGlobal) ? key : undefined)
  const find = (shown: string) => known(accounts.find(shown))
  // A policy with keys of its own knows all of them.
  const isComplete = () => own !== null || accounts.isComplete
  return { filter: { onRequest: authenticate(config, { find, isComplete }, time.wallNow), onResponse: writeLimits } }
}

// --- request time ---

interface KnownKeys {
  readonly find: (shown: string) => Key | undefined
  /** False: a key that is not found may be one. */
  readonly isComplete: () => boolean
}

/** Keys of the API are kept at a server, and have not come yet. */
const NOT_YET: AccountRefusal = {
  code: 'BUDGET_UNAVAILABLE',
  message: 'keys cannot be looked up at the moment',
  retryAfterS: 1
}

function authenticate(config: Config, { find, isComplete }: KnownKeys, wallNow: () => number): Hook {
  const { mode, location: at, isAnyPlace, allowsUnknownPrice } = config
  // A 401 names a scheme (RFC 9110 section 11.6.1).
  const challenge = ['WWW-Authenticate', at === BEARER ? 'Bearer realm="Restricted"' : 'ApiKey realm="Restricted"']
  return readKey({
    policy: 'virtualKeys',
    ...{ mode, location: at, isAnyPlace, challenge, find },
    unknown: 'the key that was shown is none that is known',
    refuseUnknown: (ex) => (isComplete() ? null : turnAway(ex, NOT_YET, 'no key of the API is known yet')),
    claimsOf: ({ claims }) => claims,
    accept: (ex, key) => {
      const code = key.refusal(wallNow())
      if (code !== null) return refuse(ex, code, challenge, detailOf('virtualKeys', `the key ${key.name}`))
      const quotas: AccountQuota[] = []
      const outcome = key.begin(ex, { allowsUnknownPrice, quotas })
      return outcome instanceof Promise ? decidedLater(ex, key, quotas, outcome) : decided(ex, key, quotas, outcome)
    }
  })
}

function decided(ex: Exchange, key: Key, quotas: readonly AccountQuota[], refusal: AccountRefusal | null): Verdict {
  if (quotas.length > 0) note(ex, quotas)
  return refusal === null ? CONTINUE : refused(ex, key, refusal)
}

/** By itself: a closure would cost the requests that need not wait. */
const decidedLater = async (
  ex: Exchange,
  key: Key,
  quotas: readonly AccountQuota[],
  outcome: Promise<AccountRefusal | null>
): Promise<Verdict> => decided(ex, key, quotas, await outcome)

const refused = (ex: Exchange, key: Key, refusal: AccountRefusal): Verdict =>
  turnAway(ex, refusal, `key ${key.name}: ${refusal.message}`)

/** `why`: for the log. */
function turnAway(ex: Exchange, refusal: AccountRefusal, why: string): Verdict {
  const { code, message } = refusal
  setRefusalMessage(ex, code, message)
  return refuse(ex, code, refusalFields(refusal), () => `${placeOf(ex, 'virtualKeys')}: ${why}`)
}

/** The tightest of each kind. */
const QUOTAS = new Slot<Map<AccountQuota['kind'], AccountQuota>>()

function note(ex: Exchange, quotas: readonly AccountQuota[]): void {
  const tightest = new Map<AccountQuota['kind'], AccountQuota>()
  for (const quota of quotas) {
    const other = tightest.get(quota.kind)
    if (other === undefined || quota.left < other.left) tightest.set(quota.kind, quota)
    noteQuota(ex, quota.capacity, quota.left, quota.resetS)
  }
  QUOTAS.set(ex, tightest)
}

/** As OpenAI names them (guide "Rate limits"), beside those of all limits. What the upstream says of its own stays. */
function writeLimits(ex: Exchange): Verdict {
  const { response } = ex
  const quotas = QUOTAS.get(ex)
  if (quotas === null || response === null || QUOTA.get(ex) === null) return CONTINUE
  writeQuota(ex)
  for (const [kind, { capacity, left, resetS }] of quotas) {
    if (response.has(`x-ratelimit-limit-${kind}`)) continue
    response.append(`x-ratelimit-limit-${kind}`, String(capacity))
    response.append(`x-ratelimit-remaining-${kind}`, String(left))
    response.append(`x-ratelimit-reset-${kind}`, `${resetS}s`)
  }
  return CONTINUE
}

function warnings({ keys }: Config<KeySource>, { mayHaveKeys }: WarningContext): string[] {
  if (keys !== null || mayHaveKeys) return []
  return ['knows no key: keys at the top of the file has none, and without config.state the API cannot make any']
}

export const virtualKeys: Policy = {
  name: 'virtualKeys',
  section: 'traffic',
  schema,
  aliases: [],
  identifies: 'apiKey',
  isImpliedByKeys: true,
  keysOf: ({ keys }: Config) => keys ?? [],
  // No key is known here.
  closed: { keys: [{ name: 'none', keyHash: `sha256:${'0'.repeat(64)}` }] },
  warnings,
  resolve,
  compile
}
