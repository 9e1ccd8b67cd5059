/** What usage costs: whole picos, kind by kind. A kind without a price of its own costs what it is a part of. */
import {
  type PriceRow,
  type RateKind,
  type RateSet,
  type Rates,
  TOKEN_KINDS,
  type TokenKind,
  type UnitKind
} from '#engine/contract/price-list.ts'
import { type Picos, plusPicos, timesPrice } from '#engine/kit/money.ts'

type CachedKind = 'cacheReadAudio' | 'cacheReadImage'

/**
 * Tokens: input and output are totals, the others parts of them, and no token is of two kinds; but those of audio and
 * images that were cached are parts of cacheRead. Absent: none.
 */
export type TokenCounts = { readonly [kind in Exclude<TokenKind, CachedKind>]: number } & {
  readonly [kind in CachedKind]?: number
}

/** What was counted beside tokens. Absent: none. */
export interface Units {
  readonly counts?: { readonly [kind in Exclude<UnitKind, 'request'>]?: number }
  readonly imageSize?: string
  readonly imageQuality?: string
}

/** What kinds cost that have no price of their own. Null: nothing stands in for it. */
const INSTEAD: { readonly [kind in RateKind]: TokenKind | null } = {
  input: null,
  cacheRead: 'input',
  cacheReadAudio: 'cacheRead',
  cacheReadImage: 'cacheRead',
  cacheWrite5m: 'input',
  cacheWrite1h: 'cacheWrite5m',
  inputAudio: 'input',
  inputImage: 'input',
  output: null,
  reasoning: 'output',
  outputAudio: 'output',
  outputImage: 'output',
  request: null,
  search: null,
  image: null,
  second: null,
  character: null
}

/** Tiers with prices of their own, where the row has none for them: nobody knows what they cost. */
const PRICED_TIERS: ReadonlySet<string> = new Set(['batch', 'flex', 'priority'])

/** Picos, or why they cannot be told. */
export type Cost = Picos | string

/** `tier` as the answer says it; null: it does not say. */
export function costOf(row: PriceRow, tokens: TokenCounts, tier: string | null, units: Units = {}): Cost {
  const set = rateSetFor(row, tier)
  if (set === null) return `no price for the service tier ${tier}`
  const rates = ratesFor(set, tokens.input)
  let sum: Picos = rates.request ?? 0
  for (const kind of TOKEN_KINDS) {
    const count = plainCount(tokens, kind)
    if (count === 0) continue
    const rate = rateOf(rates, kind)
    if (rate === undefined) return `no price for ${kind}`
    sum = plusPicos(sum, timesPrice(count, rate))
  }
  const { counts = {} } = units
  for (const kind in counts) {
    const count = counts[kind as 'search'] ?? 0
    if (count === 0) continue
    const rate = kind === 'image' ? imageRate(row, rates, units) : rates[kind as UnitKind]
    if (rate === undefined) return `no price for ${kind}`
    sum = plusPicos(sum, timesPrice(count, rate))
  }
  return sum
}

/** Rates that hold for an answer. Null: there are none for its tier. */
export function rateSetFor(row: PriceRow, tier: string | null): RateSet | null {
  if (tier === null) return row
  const own = Object.hasOwn(row.tiers, tier) ? row.tiers[tier]! : null
  return own ?? (PRICED_TIERS.has(tier) ? null : row)
}

export function ratesFor({ rates, long }: RateSet, inputTokens: number): Rates {
  for (const one of long) if (inputTokens > one.above) return one.rates
  return rates
}

/** Undefined: there is none, nor one that stands in for it. */
export function rateOf(rates: Rates, kind: RateKind): Picos | undefined {
  const own = rates[kind]
  if (own !== undefined) return own
  const instead = INSTEAD[kind]
  return instead === null ? undefined : rateOf(rates, instead)
}

/** Of the totals, what is of no other kind: none where the parts are more than the whole. */
function plainCount(tokens: TokenCounts, kind: TokenKind): number {
  if (kind === 'input') {
    const { input, cacheRead, cacheWrite5m, cacheWrite1h, inputAudio, inputImage } = tokens
    return Math.max(input - cacheRead - cacheWrite5m - cacheWrite1h - inputAudio - inputImage, 0)
  }
  if (kind === 'output') {
    const { output, reasoning, outputAudio, outputImage } = tokens
    return Math.max(output - reasoning - outputAudio - outputImage, 0)
  }
  if (kind === 'cacheRead') {
    const { cacheRead, cacheReadAudio = 0, cacheReadImage = 0 } = tokens
    return Math.max(cacheRead - cacheReadAudio - cacheReadImage, 0)
  }
  return tokens[kind] ?? 0
}

function imageRate({ images }: PriceRow, rates: Rates, { imageSize, imageQuality }: Units): Picos | undefined {
  const fits = (own: string | null, is: string | undefined) => own === null || own === is
  return images.find(({ size, quality }) => fits(size, imageSize) && fits(quality, imageQuality))?.price ?? rates.image
}

/** What a call costs at most: no discount, the most expensive kind of text. Null: there is no price for it. */
export function estimateOf(
  row: PriceRow,
  inputTokens: number,
  outputTokensMax: number,
  units: Units = {}
): Picos | null {
  const rates = ratesFor(row, inputTokens)
  const { input, output = 0, reasoning = 0, cacheWrite5m = 0, cacheWrite1h = 0, request } = rates
  const ofUnits = unitsAtMost(row, rates, units)
  if (input === undefined) return request === undefined ? ofUnits : plusPicos(request, ofUnits ?? 0)
  const ofInput = timesPrice(inputTokens, Math.max(input, cacheWrite5m, cacheWrite1h))
  const ofOutput = timesPrice(outputTokensMax, Math.max(output, reasoning))
  return plusPicos(plusPicos(ofInput, ofOutput), plusPicos(request ?? 0, ofUnits ?? 0))
}

/** Of those that have a price. Null: none has. */
function unitsAtMost(row: PriceRow, rates: Rates, units: Units): Picos | null {
  let sum: Picos | null = null
  for (const [kind, count = 0] of Object.entries(units.counts ?? {})) {
    const rate = kind === 'image' ? imageRate(row, rates, units) : rates[kind as UnitKind]
    if (rate !== undefined) sum = plusPicos(sum ?? 0, timesPrice(count, rate))
  }
  return sum
}
