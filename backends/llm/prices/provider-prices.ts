/** What calls of one provider of a backend cost: whose prices hold for it, and what is made of its usage. */
import { NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import type { DialectName } from '#backends/llm/providers/compatible.ts'
import { serviceAt } from '#backends/llm/providers/dialects.ts'
import { KEY_USE } from '#engine/contract/accounts.ts'
import { type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import type { CostBasis } from '#engine/contract/model-use.ts'
import type { Price, PriceRow } from '#engine/contract/price-list.ts'
import type { PriceBook } from '#engine/contract/prices.ts'
import { Slot } from '#engine/contract/slot.ts'
import { Lru } from '#engine/kit/lru.ts'
import { decimalText, PICO_PLACES, type Picos } from '#engine/kit/money.ts'
import { costOf, estimateOf, type Units } from '#engine/prices/cost.ts'

/** Their answers say what they have cost, in dollars. */
export const TELLERS: ReadonlySet<string> = new Set(['openrouter', 'perplexity', 'xai'])
/** A token is some four characters of English ("Tokenizer" of OpenAI); of other text fewer. */
const BYTES_PER_TOKEN = 4
/** Models that have been said to have no price. Clients choose their names. */
const WARNED_MAX = 256
const MODEL_CHARS_MAX = 128

/** By the name that price lists have for it. */
export function priceProvider(type: string, dialect: DialectName | null, host: string | null): string {
  if (type !== 'custom' && type !== 'openai') return type
  return dialect ?? (host === null ? null : serviceAt(host)) ?? type
}

/** What has come of an attempt. */
export interface Outcome {
  /** By the provider's names. */
  readonly responseModel: string | undefined
  readonly requestModel: string | undefined
  /** Null: the provider told none. */
  readonly usage: Usage | null
  readonly serviceTier: string | null
  /** The answer broke off, or the client left, before all of it came. */
  readonly isPartial: boolean
  /** Of a stream: pieces of text that came. */
  readonly pieceCount: number
  /** What is counted beside tokens; undefined: nothing is. */
  readonly units: Units | undefined
  /** Of the request's body. */
  readonly requestBytes: number
}

export type Priced =
  | { readonly cost: Picos; readonly basis: CostBasis; readonly price: Price | null }
  | { readonly unknown: string; readonly price: Price | null }

const NO_TOKENS = 'the provider did not tell what it has counted'

interface Found {
  readonly version: number
  readonly answered: string
  readonly requested: string
  readonly price: Price | null
}

export class ProviderPrices {
  readonly name: string
  readonly #book: PriceBook
  readonly #own: readonly PriceRow[]
  readonly #log: (level: 'warn', message: string) => void
  readonly #warned = new Lru<string, true>(WARNED_MAX)
  /** Most calls are for the model of the one before. */
  #lastAnswered: Found | null = null
  #lastRequested: Found | null = null

  /** `own`: rows of the backend. `log`: hears once of each model without a price. */
  constructor(
    name: string,
    own: readonly PriceRow[],
    { prices, log }: { readonly prices: PriceBook; readonly log: (level: 'warn', message: string) => void }
  ) {
    this.name = name
    this.#book = prices
    this.#own = own
    this.#log = log
  }

  get isInUse(): boolean {
    return this.#own.length > 0 || this.#book.isInUse
  }

  /** Clients get the cost of a whole answer as a header field. */
  get isShown(): boolean {
    return this.#book.isShown
  }

  get currency(): string {
    return this.#book.currency
  }

  /** What holds for calls of `model`, ahead of an answer. Null: there is no price. */
  rowFor(model: string): Price | null {
    return this.#find('', model)
  }

  /** What a call costs at most, for a reservation. Null: there is no price. */
  estimate(model: string, inputTokens: number, outputTokensMax: number, units?: Units): Picos | null {
    const price = this.#find('', model)
    return price === null ? null : estimateOf(price.row, inputTokens, outputTokensMax, units)
  }

  /**
   * What a call is likely to cost, to compare providers: an estimate at most would count the most expensive way to
   * write a cache, which few requests ask for. Null: there is no price.
   */
  usual(model: string, input: number, output: number): Picos | null {
    const price = this.#find('', model)
    const cost = price === null ? null : costOf(price.row, { ...NO_USAGE, input, output }, null)
    return typeof cost === 'number' ? cost : null
  }

  priced(outcome: Outcome): Priced {
    const { requestModel = '', responseModel = '', serviceTier } = outcome
    const reported = outcome.usage?.reportedCost
    if (reported !== undefined && TELLERS.has(this.name) && this.#book.currency === 'USD')
      return { cost: reported, basis: 'provider', price: null }
    const price = this.#find(responseModel, requestModel)
    if (price === null) return { unknown: this.#unpriced(responseModel || requestModel), price }
    const usage = countsNothing(price.row, outcome) ? null : outcome.usage
    const counted = countedOf(outcome, usage)
    if (counted === null) return { unknown: NO_TOKENS, price }
    const cost = costOf(price.row, counted, serviceTier, outcome.units ?? searchUnits(usage))
    if (typeof cost === 'string') return { unknown: cost, price }
    return {
      cost,
      basis: usage === null && outcome.units === undefined ? 'estimated' : outcome.isPartial ? 'partial' : 'usage',
      price
    }
  }

  #find(answered: string, requested: string): Price | null {
    const { version } = this.#book
    // Ahead of an answer nobody knows what answers: estimates and costs have places of their own.
    const last = answered === '' ? this.#lastRequested : this.#lastAnswered
    if (last?.version === version && last.answered === answered && last.requested === requested) return last.price
    const models = [answered, requested].filter((model) => model !== '')
    const price = this.#book.find(this.name, models, this.#own)
    const found = { version, answered, requested, price }
    if (answered === '') this.#lastRequested = found
    else this.#lastAnswered = found
    return price
  }

  #unpriced(model: string): string {
    const shown = model.slice(0, MODEL_CHARS_MAX)
    const why = `no price for the model ${JSON.stringify(shown)} of ${this.name}`
    if (this.#warned.get(shown) === undefined) {
      this.#warned.set(shown, true)
      this.#log('warn', `${why}: what its calls cost is not known; config.prices.models can say it (docs/prices.md)`)
    }
    return why
  }
}

/** Of one answer: what is more is no count. */
const SEARCHES_MAX = 1_000_000

/** Of the provider's own tools; undefined: none. */
export function searchUnits(usage: Usage | null): Units | undefined {
  const { searches = 0 } = usage ?? {}
  return searches > 0 ? { counts: { search: Math.min(Math.ceil(searches), SEARCHES_MAX) } } : undefined
}

/** Null: nothing is known, nor can be told from what came. */
function countedOf({ isPartial, pieceCount, requestBytes, units }: Outcome, usage: Usage | null): Usage | null {
  if (usage === null) {
    if (units !== undefined) return NO_USAGE
    if (pieceCount === 0) return null
    // At least one token is in a piece: what came is worth no less.
    return { ...NO_USAGE, input: Math.ceil(requestBytes / BYTES_PER_TOKEN), output: pieceCount }
  }
  // At its beginning a stream of Anthropic's format counts a token or two of output.
  return isPartial && usage.output < pieceCount ? { ...usage, output: pieceCount } : usage
}

/**
 * No call is of no token: counts that are none (`"12"`, null), or below nothing, were read as 0, and must not make it
 * free.
 */
const countsNothing = ({ rates }: PriceRow, { usage, units }: Outcome): boolean =>
  usage?.input === 0 && usage.output === 0 && !usage.searches && units === undefined && rates.input !== undefined

interface PricedCall {
  readonly prices: ProviderPrices
  readonly requestBytes: number
}

const CALL = new Slot<PricedCall | null>()

/** An attempt begins. */
export function beginPricing(ex: Exchange, prices: ProviderPrices, requestBytes: number): void {
  if (prices.isInUse || KEY_USE.get(ex)?.hasBudget === true) CALL.set(ex, { prices, requestBytes })
  // The attempt before had a provider with prices, perhaps.
  else if (CALL.get(ex) !== null) CALL.set(ex, null)
}

/** Null: no prices are in use. */
export function pricedCall(ex: Exchange, outcome: Omit<Outcome, 'requestBytes'>): Priced | null {
  const call = CALL.get(ex)
  if (call === null) return null
  const priced = call.prices.priced({ ...outcome, requestBytes: call.requestBytes })
  // The head of a stream has left before its cost is known.
  const isWhole = ex.tap === null && ex.step !== STEP_RECORDED
  if (call.prices.isShown && isWhole && 'cost' in priced)
    ex.response?.set('X-Weir-Cost', decimalText(priced.cost, PICO_PLACES))
  return priced
}
