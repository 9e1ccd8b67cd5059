/** How the catalogue is written down: lines of models that cost the same, in US dollars. */
import {
  type ImageRate,
  type PriceRow,
  type RateKind,
  type RateSet,
  type Rates,
  TOKEN_KINDS
} from '#engine/contract/price-list.ts'
import { moneyOf, PICO_PLACES } from '#engine/kit/money.ts'
import { scaled } from '#engine/prices/schema.ts'

/** Dollars: for a million tokens or characters, else for one. */
export type DollarRates = { readonly [kind in RateKind]?: number }

export interface Dollars extends DollarRates {
  /** For calls with more tokens of input than this; what is not said is as for others. */
  readonly long?: DollarRates & { readonly above: number }
  /** Per cent of all these prices, or prices of their own. */
  readonly batch?: number | DollarRates
  readonly flex?: number | DollarRates
  readonly priority?: number | DollarRates
  readonly images?: readonly { readonly size?: string; readonly quality?: string; readonly price: number }[]
}

/** Names with spaces between them; one may have a star. */
export type Line = readonly [models: string, dollars: Dollars]

/** One price list of one provider, as it was on a day. */
export interface PriceList {
  /** By the name that configurations have for it. */
  readonly provider: string
  readonly source: string
  readonly date: string
  readonly lines: readonly Line[]
}

/** In all tiers and for all lengths, of the price list that it was made for. */
export function times(lines: readonly Line[], percent: number, rename: (model: string) => string): readonly Line[] {
  return lines.map(([models, dollars]) => [
    models.split(' ').map(rename).join(' '),
    { ...multiplied(dollars, percent), ...(dollars.long && { long: multiplied(dollars.long, percent) }) }
  ])
}

function multiplied<T extends DollarRates>(rates: T, percent: number): T {
  const changed: { [kind in RateKind]?: number } = {}
  for (const kind of TOKEN_KINDS) {
    const price = rates[kind]
    // Prices have six digits behind the point at most: no more of the quotient is meant.
    if (price !== undefined) changed[kind] = Number(((price * percent) / 100).toFixed(6))
  }
  return { ...rates, ...changed }
}

export function rowsOf({ provider, source, date, lines }: PriceList): PriceRow[] {
  return lines.flatMap(([models, dollars]) => {
    const set = rateSetOf(dollars)
    const tiers: Record<string, RateSet> = {}
    for (const tier of ['batch', 'flex', 'priority'] as const) {
      const own = dollars[tier]
      if (typeof own === 'number') tiers[tier] = tierOf(set, own)
      else if (own !== undefined) tiers[tier] = { rates: ratesOf(own), long: [] }
    }
    const images = (dollars.images ?? []).map(
      ({ size = null, quality = null, price }): ImageRate => ({ size, quality, price: picos(price, PICO_PLACES) })
    )
    return models.split(' ').map((model): PriceRow => ({ provider, model, ...set, tiers, images, date, source }))
  })
}

function rateSetOf({ long, ...dollars }: Dollars): RateSet {
  const rates = ratesOf(dollars)
  return { rates, long: long === undefined ? [] : [{ above: long.above, rates: { ...rates, ...ratesOf(long) } }] }
}

function tierOf({ rates, long }: RateSet, percent: number): RateSet {
  return { rates: scaled(rates, percent), long: long.map((one) => ({ ...one, rates: scaled(one.rates, percent) })) }
}

const PER_MILLION: ReadonlySet<string> = new Set([...TOKEN_KINDS, 'character'])
const UNITS: ReadonlySet<string> = new Set(['request', 'search', 'image', 'second'])

function ratesOf(dollars: DollarRates): Rates {
  const rates: { [kind in RateKind]?: number } = {}
  for (const [kind, price] of Object.entries(dollars)) {
    if (PER_MILLION.has(kind)) rates[kind as RateKind] = picos(price as number, PICO_PLACES - 6)
    else if (UNITS.has(kind)) rates[kind as RateKind] = picos(price as number, PICO_PLACES)
  }
  return rates
}

function picos(price: number, places: number): number {
  const amount = moneyOf(price, places)
  if (amount === null) throw new Error(`${price} is no price`)
  return Number(amount)
}
