/** What calls of models cost, as the configuration in force and the catalogue have it. */
import type { Background } from './background.ts'
import type { Price, PriceRow, PriceSettings } from './price-list.ts'

/**
 * One for each thread, which stays the same object over reloads: a new configuration changes what it answers.
 */
export interface PriceBook {
  /** ISO 4217, of all amounts: there is one currency in a process. */
  readonly currency: string
  /** Something of the configuration reads costs: they are worked out. */
  readonly isInUse: boolean
  /** Clients get the cost of a whole answer as a header field. */
  readonly isShown: boolean
  /** Rises with each change: what was found before may be another one now. */
  readonly version: number
  /**
   * The price of the first of `models` that has one, by the provider's names for it; rows of the configuration for any
   * of them go ahead of the catalogue. `own`: rows of a backend, which go ahead of all.
   */
  find(provider: string, models: readonly string[], own: readonly PriceRow[]): Price | null
  /** What reads costs calls it when it is compiled: they are worked out from then on. */
  want(): void
  /** While it is in force, a configuration says this of prices. */
  use(settings: PriceSettings): Background
}

/** For configurations that are only looked at, or have nothing that asks. */
export const NO_PRICES: PriceBook = {
  currency: 'USD',
  isInUse: false,
  isShown: false,
  version: 0,
  find: () => null,
  want() {},
  use: () => ({ begin() {}, end() {} })
}
