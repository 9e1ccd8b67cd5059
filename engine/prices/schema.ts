/** Price lists as configurations and files spell them, and their form in a Snapshot. */
import type { ImageRate, PriceRow, PriceSettings, RateKind, RateSet, Rates } from '#engine/contract/price-list.ts'
import { CATALOGUE_CURRENCY, TOKEN_KINDS } from '#engine/contract/price-list.ts'
import { moneyOf, PICO_PLACES, PICOS_MAX } from '#engine/kit/money.ts'
import { cel, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { deferred, list, once, says, shortString, tinyString, whole, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'

const ROWS_MAX = 4096
const TIERS_MAX = 8
const IMAGES_MAX = 64
/** Prices of tokens and characters are said per million of them: as whole numbers of picos for each. */
const PER_MILLION = PICO_PLACES - 6
/** Of one unit: more than any provider asks, and a billion of them is still a number. */
const PRICE_DIGITS = 6

const AMOUNT = `must be an amount from 0 to ${10 ** PRICE_DIGITS - 1}, such as 2.5 or '0.075'`

/** `places`: digits behind the point. */
const money = (places: number) => {
  const error = `${AMOUNT}, with at most ${places} digits behind the point`
  const pattern = new RegExp(`^[0-9]{1,${PRICE_DIGITS}}(\\.[0-9]{1,${places}})?$`)
  return inResources(
    z
      .union([z.number(), z.string()], { error: says(error) })
      .refine((value) => (moneyOf(value, places) ?? -1n) >= 0n && Number(value) < 10 ** PRICE_DIGITS, {
        error,
        params: ONLY_GATEWAY
      })
      .transform((value) => Math.min(Number(moneyOf(value, places)), PICOS_MAX)),
    z.string().regex(pattern, error)
  )
}

const UNITS = {
  perRequest: { kind: 'request', what: 'Of each call, beside its tokens.' },
  perSearch: { kind: 'search', what: "Of each search: of a ranking, or of the provider's own tools." },
  perImage: { kind: 'image', what: 'Of each picture, of any size and quality that `images` does not name.' },
  perSecond: { kind: 'second', what: 'Of each second of speech.' }
} as const satisfies Readonly<Record<string, { readonly kind: RateKind; readonly what: string }>>

const DESCRIPTIONS: { readonly [kind in (typeof TOKEN_KINDS)[number]]: string } = {
  input: 'Of a million tokens of input.',
  cacheRead: 'Of those read from a cache. Default: input.',
  cacheReadAudio: 'Of audio read from a cache. Default: cacheRead.',
  cacheReadImage: 'Of images read from a cache. Default: cacheRead.',
  cacheWrite5m: 'Of those written to a cache for 5 minutes, or for as long as the provider likes. Default: input.',
  cacheWrite1h: 'Of those written to a cache for an hour. Default: cacheWrite5m.',
  inputAudio: 'Of audio. Default: input.',
  inputImage: 'Of images. Default: input.',
  output: 'Of a million tokens of output.',
  reasoning: 'Of thoughts. Default: output.',
  outputAudio: 'Of audio. Default: output.',
  outputImage: 'Of images. Default: output.'
}

/** Of a million tokens or characters, or of one of the rest, by the field that has it. */
export const RATE_FIELDS: readonly (readonly [field: string, kind: RateKind, perMillion: boolean])[] = [
  ...TOKEN_KINDS.map((kind) => [kind, kind, true] as const),
  ['perMillionCharacters', 'character', true],
  ...Object.entries(UNITS).map(([field, { kind }]) => [field, kind, false] as const)
]

const rates = () => ({
  ...(Object.fromEntries(
    TOKEN_KINDS.map((kind) => [kind, money(PER_MILLION).optional().describe(DESCRIPTIONS[kind])])
  ) as { [kind in (typeof TOKEN_KINDS)[number]]: z.ZodOptional<ReturnType<typeof money>> }),
  perMillionCharacters: money(PER_MILLION).optional().describe('Of a million characters of text that is spoken.'),
  ...(Object.fromEntries(
    Object.entries(UNITS).map(([name, { what }]) => [name, money(PICO_PLACES).optional().describe(what)])
  ) as { [name in keyof typeof UNITS]: z.ZodOptional<ReturnType<typeof money>> })
})

const longContext = once(() =>
  list(
    z.strictObject({
      above: whole(1, 1_000_000_000).describe('Tokens of input.'),
      ...rates()
    }),
    1,
    TIERS_MAX
  ).meta({ id: 'LongContextPrices' })
)

const longContextField = () =>
  longContext()
    .optional()
    .describe('Prices of calls with more than `above` tokens of input. What it does not say is as for shorter ones.')

const tier = once(() =>
  z
    .strictObject({
      percent: whole(0, 1000).optional().describe('Of the prices around it: 50 is half. What is said here goes ahead.'),
      ...rates(),
      longContext: longContextField()
    })
    .meta({ id: 'PriceTier' })
)

const row = () => ({
  provider: tinyString()
    .optional()
    .describe('As in `provider` of a backend (openai, bedrock, groq, ...). Default: any.'),
  ...rates(),
  longContext: longContextField(),
  batch: tier().optional().describe('Prices of the batch tier, where the answer names it.'),
  flex: tier().optional().describe('Prices of the flex tier.'),
  priority: tier().optional().describe('Prices of the priority tier.'),
  images: list(
    z.strictObject({
      size: tinyString().optional().describe('For example 1024x1024. Default: any.'),
      quality: tinyString().optional().describe('For example high. Default: any.'),
      price: money(PICO_PLACES)
    }),
    1,
    IMAGES_MAX
  )
    .optional()
    .describe('Prices of pictures by size and quality; the first that fits holds.'),
  date: z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, 'must be a date, such as 2026-08-21')
    .optional()
    .describe('When the price was looked up.'),
  source: shortString().optional().describe('Where it was looked up.')
})

const pattern = () =>
  shortString().refine((text) => text.split('*').length <= 2, {
    error: 'may have one star',
    params: cel("!self.matches('[*].*[*]')")
  })

/** Rows of a list: `models` of `config.prices`, and what a file has. */
export const priceRows = () =>
  list(z.strictObject({ model: pattern().describe('Name, or a pattern with one star.'), ...row() }), 0, ROWS_MAX)

/** One, so that the JSON Schema has it once. */
const BACKEND_ROWS = once(() =>
  list(
    z.strictObject({
      model: pattern().optional().describe('Name, or a pattern with one star. Default: all.'),
      ...row()
    }),
    1,
    ROWS_MAX
  ).meta({ id: 'BackendPrices' })
)

/** Rows of a backend: without `model` of all its models. */
export const backendPriceRows = deferred(BACKEND_ROWS)

export const currency = () =>
  z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters (ISO 4217), such as EUR')
    .describe('Of all prices and costs. Default USD.')

type FileRates = z.output<z.ZodObject<ReturnType<typeof rates>>>
type FileTier = z.output<ReturnType<typeof tier>> | undefined
type FileRow = z.output<z.ZodObject<ReturnType<typeof row>>> & { readonly model?: string | undefined }

export type FilePrices = readonly FileRow[] | undefined

/** Rows of a backend. Null: it has none. */
export const rowsOf = (file: FilePrices): readonly PriceRow[] | null => file?.map((one) => rowOf(one)) ?? null

/** The last row for a model holds. */
function rowOf(file: FileRow): PriceRow {
  const base = rateSetOf(file, file.longContext)
  const { batch, flex, priority, images = [], date = null, source = null } = file
  const tiers: Record<string, RateSet> = {}
  for (const [name, one] of Object.entries({ batch, flex, priority })) {
    if (one !== undefined) tiers[name] = tierOf(one, base)
  }
  return {
    ...base,
    provider: file.provider?.toLowerCase() ?? null,
    model: (file.model ?? '*').toLowerCase(),
    tiers,
    images: images.map(({ size = null, quality = null, price }): ImageRate => ({ size, quality, price })),
    date,
    source
  }
}

function ratesOf(file: FileRates): Rates {
  const found: { [kind in RateKind]?: number } = {}
  for (const kind of TOKEN_KINDS) if (file[kind] !== undefined) found[kind] = file[kind]
  for (const [name, { kind }] of Object.entries(UNITS)) {
    const price = file[name as keyof typeof UNITS]
    if (price !== undefined) found[kind] = price
  }
  if (file.perMillionCharacters !== undefined) found.character = file.perMillionCharacters
  return found
}

type FileLong = readonly (FileRates & { readonly above: number })[] | undefined

function rateSetOf(file: FileRates, long: FileLong = [], around: RateSet = { rates: {}, long: [] }): RateSet {
  const rates = { ...around.rates, ...ratesOf(file) }
  const own = long.map((one) => ({ above: one.above, rates: { ...rates, ...ratesOf(one) } }))
  const kept = own.length > 0 ? own : around.long
  return { rates, long: [...kept].sort((a, b) => b.above - a.above) }
}

function tierOf(file: NonNullable<FileTier>, base: RateSet): RateSet {
  const { percent } = file
  if (percent === undefined) return rateSetOf(file, file.longContext)
  const long = base.long.map(({ above, rates }) => ({ above, rates: scaled(rates, percent) }))
  return rateSetOf(file, file.longContext, { rates: scaled(base.rates, percent), long })
}

/** Of a whole pico nobody pays a part: it is rounded up. */
export function scaled(rates: Rates, percent: number): Rates {
  const entries = Object.entries(rates).map(([kind, price]) => [kind, Math.ceil((price * percent) / 100)])
  return Object.fromEntries(entries) as Rates
}

interface FileSettings {
  readonly currency?: string | undefined
  readonly catalogue?: boolean | undefined
  readonly responseHeader?: boolean | undefined
}

/** Later rows for a model hold. */
export function settingsOf(file: FileSettings, rows: readonly FileRow[]): PriceSettings {
  const { currency: own = CATALOGUE_CURRENCY, responseHeader = false } = file
  const catalogue = file.catalogue ?? own === CATALOGUE_CURRENCY
  return { currency: own, catalogue, responseHeader, rows: rows.map((one) => rowOf(one)) }
}
