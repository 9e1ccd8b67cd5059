/** Rows of prices, as configurations and the catalogue have them. Plain data. */
import type { Picos } from '#engine/kit/money.ts'

/** ISO 4217, of the catalogue, and of prices that say no other one. */
export const CATALOGUE_CURRENCY = 'USD'

/** Kinds of tokens that have prices of their own. Parts of input and output, which share none. */
export const TOKEN_KINDS = [
  ...(['input', 'cacheRead', 'cacheReadAudio', 'cacheReadImage', 'cacheWrite5m', 'cacheWrite1h'] as const),
  ...(['inputAudio', 'inputImage'] as const),
  ...(['output', 'reasoning', 'outputAudio', 'outputImage'] as const)
]
export type TokenKind = (typeof TOKEN_KINDS)[number]

/** What is counted beside tokens: calls, searches of the provider's own tools or of a ranking, pictures, time, text. */
export const UNIT_KINDS = ['request', 'search', 'image', 'second', 'character'] as const
export type UnitKind = (typeof UNIT_KINDS)[number]

export type RateKind = TokenKind | UnitKind

/** Picos for one of a kind. A kind that is not there has no price of its own. */
export type Rates = { readonly [kind in RateKind]?: Picos }

/** Pictures of a size and a quality; null: any. */
export interface ImageRate {
  readonly size: string | null
  readonly quality: string | null
  readonly price: Picos
}

/** Rates, and those of requests with more than `above` tokens of input, the longest first. */
export interface RateSet {
  readonly rates: Rates
  readonly long: readonly { readonly above: number; readonly rates: Rates }[]
}

/** One row of a price list. Plain data. */
export interface PriceRow extends RateSet {
  /** By the name that configurations have for it; null: any. */
  readonly provider: string | null
  /** In lower case; one star stands for any text. */
  readonly model: string
  /** By the tier's name in answers: batch, flex, priority. */
  readonly tiers: { readonly [tier: string]: RateSet }
  readonly images: readonly ImageRate[]
  /** ISO date on which the price was looked up; null: not said. */
  readonly date: string | null
  readonly source: string | null
  /** Two collections that were made apart have it, and agree. Absent: rows of a configuration say nothing of it. */
  readonly isCompared?: boolean
}

/** Where a price is from, the strongest first: rows of the backend, those of `config.prices`, the catalogue. */
export type PriceOrigin = 'backend' | 'config' | 'catalogue'

export interface Price {
  readonly row: PriceRow
  readonly origin: PriceOrigin
}

/** A model that a configuration names, or leaves to its clients. */
export interface NamedModel {
  /** By the name that price lists have for it. */
  readonly provider: string
  /** By the provider's name; null: the one that the client names. */
  readonly model: string | null
  /** Rows of its backend. */
  readonly own: readonly PriceRow[]
  /**
   * What knows the price where no row has it: nothing, the provider, whose answers say what they have cost, or the
   * answer, which names the model behind a deployment.
   */
  readonly otherwise: 'nothing' | 'provider' | 'answer'
}

/** What a configuration says of prices. Plain data. */
export interface PriceSettings {
  /** ISO 4217. */
  readonly currency: string
  /** What its rows do not have is looked up in the catalogue of this version. */
  readonly catalogue: boolean
  /** Whole answers say what they have cost (x-weir-cost). */
  readonly responseHeader: boolean
  readonly rows: readonly PriceRow[]
}
