/** Rows of price lists as people and programs read them: by the fields of a configuration, amounts as decimal text. */
import type { Price, PriceRow, RateSet, Rates } from '#engine/contract/price-list.ts'
import { decimalText, PICO_PLACES } from '#engine/kit/money.ts'
import { RATE_FIELDS } from './schema.ts'

type Amounts = Readonly<Record<string, string>>

interface ShownSet {
  readonly longContext?: readonly (Amounts | { readonly above: number })[]
}

/** A row of `config.prices.models`, and where it is from. */
export interface ShownRow extends ShownSet {
  readonly provider: string | null
  readonly model: string
  readonly origin: Price['origin']
  readonly date: string | null
  readonly source: string | null
  /** Null: it is not of the catalogue. */
  readonly isCompared: boolean | null
  readonly [field: string]: unknown
}

export function shownRow({ row, origin }: Price): ShownRow {
  const { provider, model, tiers, images, date, source, isCompared = null } = row
  const sizes = images.map(({ price, ...one }) => ({ ...one, price: decimalText(price, PICO_PLACES) }))
  return {
    ...{ provider, model, origin, date, source, isCompared },
    ...shownSet(row),
    ...Object.fromEntries(Object.entries(tiers).map(([tier, set]) => [tier, shownSet(set)])),
    ...(sizes.length > 0 && { images: sizes })
  }
}

const shownSet = ({ rates, long }: RateSet) => ({
  ...amountsOf(rates),
  ...(long.length > 0 && { longContext: long.map((one) => ({ above: one.above, ...amountsOf(one.rates) })) })
})

function amountsOf(rates: Rates): Amounts {
  const out: Record<string, string> = {}
  for (const [field, kind, perMillion] of RATE_FIELDS) {
    const price = rates[kind]
    if (price !== undefined) out[field] = decimalText(price, perMillion ? PICO_PLACES - 6 : PICO_PLACES)
  }
  return out
}

/** "input 0.15, output 0.6". */
export const ratesText = (rates: Rates): string =>
  Object.entries(amountsOf(rates))
    .map(([field, amount]) => `${field} ${amount}`)
    .join(', ')

/** "openai gpt-4o", where it is from, and a line for each of its lists of prices. */
export function rowLines(price: Price, currency: string): readonly string[] {
  const { row } = price
  const sets: (readonly [string, Rates])[] = [[`${currency} per million`, row.rates], ...longLines('', row)]
  for (const [tier, set] of Object.entries(row.tiers)) sets.push([tier, set.rates], ...longLines(`${tier}, `, set))
  const images = row.images.map(
    ({ size, quality, price: amount }) =>
      [
        `a picture, ${[size, quality].filter((one) => one !== null).join(' ') || 'any'}`,
        decimalText(amount, PICO_PLACES)
      ] as const
  )
  const lines = [...sets.map(([what, rates]) => [what, ratesText(rates)] as const), ...images]
  const width = Math.max(...lines.map(([what]) => what.length))
  return [nameOf(row), `  ${originOf(price)}`, ...lines.map(([what, text]) => `  ${what.padEnd(width)}  ${text}`)]
}

const longLines = (tier: string, { long }: RateSet) =>
  long.map(({ above, rates }) => [`${tier}above ${above} tokens of input`, rates] as const)

export const nameOf = ({ provider, model }: PriceRow): string => `${provider ?? 'any provider'} ${model}`

const ORIGINS: { readonly [origin in Price['origin']]: string } = {
  backend: 'of the backend',
  config: 'of config.prices',
  catalogue: 'of the catalogue'
}

export function originOf({ row: { date, source, isCompared }, origin }: Price): string {
  const compared =
    isCompared === undefined
      ? null
      : isCompared
        ? 'two collections agree'
        : 'one collection alone has it, or they differ'
  return [ORIGINS[origin], date ?? 'no date', source, compared].filter((one) => one !== null).join(', ')
}
