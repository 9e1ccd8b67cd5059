/** What calls of models cost, as the configuration in force and the catalogue have it. */
import type { Picos } from '#engine/kit/money.ts'

/**
 * One for each thread, which stays the same object over reloads: a new configuration changes what it answers.
 */
export interface PriceBook {
  /** ISO 4217, of all amounts: there is one currency in a process. */
  readonly currency: string
  /**
   * What a call costs at most, for a reservation: nothing read from a cache, and output as long as it may be.
   * `provider` as in ModelUse, `model` by the provider's name for it. Null: there is no price.
   */
  estimate(provider: string, model: string, inputTokens: number, outputTokensMax: number): Picos | null
}

/** For configurations that are only looked at, or have nothing that asks. */
export const NO_PRICES: PriceBook = { currency: 'USD', estimate: () => null }
