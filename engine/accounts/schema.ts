/** Keys, teams and organisations as configurations, secrets and the API write them. */
import { hash as digestOf } from 'node:crypto'
import { type AccountSpec, type BudgetSpec, type KeySpec, PERIODS, type RateSpec } from '#engine/contract/accounts.ts'
import { moneyOf, NANO_PLACES } from '#engine/kit/money.ts'
import { secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { list, map, name, once, says, shortString, tinyString, whole, z } from '#engine/schema/schema.ts'
import { anyJson, filledIn, words } from '#engine/schema/spelling.ts'
import { isTimeZone } from './periods.ts'

const KEYS_MAX = 10_000
const TEAMS_MAX = 4_096
const KEY_CHARS_MAX = 1_024
/** Keys that people make up are guessed. */
const KEY_CHARS_MIN = 8
const BUDGETS_MAX = 8
const LIMITS_MAX = 16
const MODELS_MAX = 256
const TAGS_MAX = 64
const METADATA_MAX = 64
const CONCURRENCY_MAX = 1_000_000
/** Keeps a bucket, burst included, and its debt within 32 bits. */
const AMOUNT_MAX = 1_000_000_000
/** In JavaScript numbers nanos are exact up to nine million. */
const MONEY_MAX = 9_000_000n * 10n ** BigInt(NANO_PLACES)
const ROLLING_MIN_MS = 60_000
const ROLLING_MAX_MS = 366 * 86_400_000
const UNITS_MS = { Seconds: 1_000, Minutes: 60_000, Hours: 3_600_000, Days: 86_400_000 } as const

const AMOUNT = 'must be an amount of money above 0 and below 9000000, such as 12.50'

const amount = () =>
  z.union([z.number(), z.string()], { error: says(AMOUNT) }).transform((value, context) => {
    const nanos = moneyOf(value, NANO_PLACES)
    if (nanos !== null && nanos > 0n && nanos < MONEY_MAX) return Number(nanos)
    context.addIssue({ code: 'custom', message: AMOUNT })
    return z.NEVER
  })

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/
const INSTANT_EXPECTED = 'must be a time such as "2027-01-31T09:00:00Z"'

/** Milliseconds since 1970. */
const instant = () =>
  z
    .string({ error: says(INSTANT_EXPECTED) })
    .regex(INSTANT, INSTANT_EXPECTED)
    .transform((text, context) => {
      const ms = Date.parse(text)
      if (Number.isFinite(ms)) return ms
      context.addIssue({ code: 'custom', message: INSTANT_EXPECTED })
      return z.NEVER
    })

const timeZone = () =>
  tinyString().refine(isTimeZone, { error: says('must be the name of a time zone, such as "Europe/Berlin"') })

const rolling = () =>
  positiveDuration('must be from 1m to 8784h').refine(
    (ms) => ms >= ROLLING_MIN_MS && ms <= ROLLING_MAX_MS,
    'must be from 1m to 8784h'
  )

const budget = () =>
  oneOf(
    {
      period: words(PERIODS).optional().describe('By the calendar; Total: once and for all.'),
      rolling: rolling().optional().describe('At any time the last so many hours ("24h").')
    },
    {
      amount: amount().describe('Money in the currency of the prices.'),
      timeZone: timeZone().optional().describe('Of period. Default UTC.'),
      startsAt: instant()
        .optional()
        .describe('Periods begin at this time of day, on this weekday (Week), on this day (Month). Default midnight.')
    }
  )
    .refine(({ rolling: ms, timeZone: zone, startsAt }) => ms === undefined || (zone ?? startsAt) === undefined, {
      path: ['rolling'],
      error: 'has no begin: timeZone and startsAt are for period'
    })
    .transform(
      (input): BudgetSpec => ({
        amount: input.amount,
        period: input.rolling ?? periodOf(input.period!),
        timeZone: input.timeZone ?? 'UTC',
        startsAt: input.startsAt ?? null
      })
    )

/** Files may begin it with a small letter. */
const periodOf = (word: string) => PERIODS.find((one) => one.toLowerCase() === word.toLowerCase())!

const limit = () =>
  oneOf(
    { requests: whole(1, AMOUNT_MAX).optional(), tokens: whole(1, AMOUNT_MAX).optional() },
    { unit: z.enum(['Seconds', 'Minutes', 'Hours', 'Days']), burst: whole(0, AMOUNT_MAX).optional() }
  ).transform(
    ({ requests, tokens, unit, burst = 0 }): RateSpec => ({
      kind: tokens === undefined ? 'requests' : 'tokens',
      amount: tokens ?? requests!,
      burst,
      unitMs: UNITS_MS[unit]
    })
  )

const budgets = () =>
  list(budget(), 0, BUDGETS_MAX).refine(
    (all) => new Set(all.map(({ amount: _, ...rest }) => JSON.stringify(rest))).size === all.length,
    'must not have two budgets for the same period'
  )

const model = () => shortString().regex(/^[^\0-\x1f\x7f]*$/, 'must not have control characters')

/** What every level may have. */
const limits = () => ({
  budgets: budgets().optional().describe('Money that may be spent; each of them must have room.'),
  limits: list(limit(), 0, LIMITS_MAX)
    .optional()
    .describe('Requests or tokens in a time; each of them must have room.'),
  concurrency: whole(1, CONCURRENCY_MAX).optional().describe('Requests at a time.'),
  models: list(model(), 1, MODELS_MAX).optional().describe('Models that may be used, with stars. Default: all.')
})

type Limits = Partial<Omit<AccountSpec, 'name'>>

const accountOf = (
  accountName: string,
  input: { readonly [F in keyof Limits]: Limits[F] | undefined }
): AccountSpec => ({
  name: accountName,
  budgets: input.budgets ?? [],
  limits: input.limits ?? [],
  concurrency: input.concurrency ?? null,
  models: input.models ?? null
})

const organisation = () =>
  z.strictObject({ name: name(), ...limits() }).transform((input) => accountOf(input.name, input))

const team = () =>
  z
    .strictObject({ name: name(), organisation: name().optional().describe('One of organisations.'), ...limits() })
    .transform((input) => ({ ...accountOf(input.name, input), organisation: input.organisation ?? null }))

const plain = () =>
  z
    .string()
    .min(KEY_CHARS_MIN, `must have at least ${KEY_CHARS_MIN} characters`)
    .max(KEY_CHARS_MAX)
    .regex(/^[^\0-\x1f\x7f]*$/, 'must not have control characters: no request could carry them')
    .refine((text) => text.trim() === text, 'must not begin or end with a blank: no request could carry it')
    .refine((text) => text.isWellFormed(), 'must be valid Unicode text')

const digest = () => z.string().regex(/^sha256:[0-9A-Fa-f]{64}$/, 'must be "sha256:" and 64 hexadecimal digits')

/** Beside the value. `isNameOptional`: an entry of a secret has the secret's. */
const fields = () => ({
  owner: shortString().optional().describe('Who answers for it.'),
  team: name().optional().describe('One of teams.'),
  organisation: name().optional().describe('One of organisations, for a key without a team.'),
  tags: list(tinyString(), 0, TAGS_MAX).optional(),
  metadata: map(shortString(), anyJson(), 0, METADATA_MAX).optional().describe('More for expressions: apiKey.<name>.'),
  expires: instant().optional().describe('From then on it is refused.'),
  revoked: filledIn(z.boolean(), false).optional().describe('It is refused.'),
  ...limits()
})

type Fields = z.output<z.ZodObject<ReturnType<typeof fields>>>

const values = () => ({
  key: plain().optional().describe('What clients show.'),
  keyHash: digest().optional().describe('Instead: its SHA-256, "sha256:" and 64 hexadecimal digits.')
})

/** The digest of `text` as the accounts have it. */
export const keyDigest = (text: string): string => digestOf('sha256', text)

const hashOf = (text: string | undefined, hash: string | undefined) =>
  secret(text === undefined ? hash!.slice('sha256:'.length).toLowerCase() : keyDigest(text))

export function keySpecOf(keyName: string, hash: KeySpec['values'][number]['hash'], input: Fields): KeySpec {
  return {
    ...accountOf(keyName, input),
    values: [{ hash, validUntil: null }],
    owner: input.owner ?? null,
    team: input.team ?? null,
    organisation: input.organisation ?? null,
    tags: input.tags ?? [],
    metadata: input.metadata ?? {},
    expiresAt: input.expires ?? null,
    isRevoked: input.revoked ?? false
  }
}

const notBoth = { path: ['organisation'], error: 'is that of the team: a key has one of them' }
const hasOneOwner = ({ team: one, organisation: other }: Fields): boolean => one === undefined || other === undefined

const key = () =>
  oneOf(values(), { name: name().describe('In logs and reports.'), ...fields() })
    .refine(hasOneOwner, notBoth)
    .transform((input): KeySpec => keySpecOf(input.name, hashOf(input.key, input.keyHash), input))

/** An entry of a secret in JSON: its name may be that of the entry. */
export const secretKeySchema = once(() =>
  oneOf(values(), { name: name().optional(), ...fields() })
    .refine(hasOneOwner, notBoth)
    .transform((input) => (usual: string) => keySpecOf(input.name ?? usual, hashOf(input.key, input.keyHash), input))
)

export const plainKeySchema = once(plain)

/** Of the API: the value is made by the gateway. */
export const madeKeySchema = once(() => z.strictObject({ name: name(), ...fields() }).refine(hasOneOwner, notBoth))

export const keysSchema = () => list(key(), 1, KEYS_MAX)
export const teamsSchema = () => list(team(), 1, TEAMS_MAX)
export const organisationsSchema = () => list(organisation(), 1, TEAMS_MAX)
export { KEYS_MAX }
