/** The price book of a thread: rows of the configuration in force, and behind them the catalogue, read on first use. */
import type { Background } from '#engine/contract/background.ts'
import type { Price, PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import type { PriceBook } from '#engine/contract/prices.ts'
import { Lru } from '#engine/kit/lru.ts'
import { PriceTable } from './table.ts'

/** Clients choose names of models. */
const FOUND_MAX = 2048

export const NO_SETTINGS: PriceSettings = { currency: 'USD', catalogue: true, responseHeader: false, rows: [] }

/** gen_ai.provider.name of the OpenTelemetry GenAI conventions, where configurations have another name. */
const PROVIDERS: Readonly<Record<string, string | undefined>> = {
  'aws.bedrock': 'bedrock',
  'azure.ai.openai': 'azureopenai',
  'gcp.gemini': 'gemini',
  'gcp.vertex_ai': 'vertexai',
  x_ai: 'xai',
  mistral_ai: 'mistral'
}

export class Prices implements PriceBook {
  version = 0
  isInUse = false
  #settings = NO_SETTINGS
  #configured = new PriceTable([])
  #catalogue: PriceTable | null = null
  readonly #readCatalogue: () => readonly PriceRow[]
  #found = new Lru<string, { readonly price: Price | null }>(FOUND_MAX)
  readonly #own = new WeakMap<readonly PriceRow[], PriceTable>()
  #isWanted = false

  constructor(readCatalogue: () => readonly PriceRow[]) {
    this.#readCatalogue = readCatalogue
  }

  get currency(): string {
    return this.#settings.currency
  }

  get isShown(): boolean {
    return this.#settings.responseHeader
  }

  want(): void {
    this.#isWanted = true
    this.isInUse = true
  }

  use(settings: PriceSettings): Background {
    return {
      begin: () => this.#put(settings),
      // The next configuration has begun before this one ends.
      end: () => {
        if (this.#settings === settings) this.#put(NO_SETTINGS)
      }
    }
  }

  #put(settings: PriceSettings): void {
    this.#settings = settings
    this.isInUse = this.#isWanted || settings !== NO_SETTINGS
    this.#configured = new PriceTable(settings.rows)
    this.#found = new Lru(FOUND_MAX)
    this.version++
    // Reading the catalogue takes some 10 ms, which no request should wait for.
    if (settings !== NO_SETTINGS && settings.catalogue) this.#read()
  }

  find(provider: string, models: readonly string[], own: readonly PriceRow[]): Price | null {
    const name = PROVIDERS[provider] ?? provider
    if (own.length > 0) {
      const row = firstIn(this.#tableOf(own), name, models)
      if (row !== null) return { row, origin: 'backend' }
    }
    const key = JSON.stringify([name, models])
    const known = this.#found.get(key)
    if (known !== undefined) return known.price
    const price = this.#look(name, models)
    this.#found.set(key, { price })
    return price
  }

  #look(provider: string, models: readonly string[]): Price | null {
    const configured = firstIn(this.#configured, provider, models)
    if (configured !== null) return { row: configured, origin: 'config' }
    if (!this.#settings.catalogue) return null
    const row = firstIn(this.#read(), provider, models)
    return row === null ? null : { row, origin: 'catalogue' }
  }

  #read(): PriceTable {
    this.#catalogue ??= new PriceTable(this.#readCatalogue())
    return this.#catalogue
  }

  #tableOf(rows: readonly PriceRow[]): PriceTable {
    const known = this.#own.get(rows)
    if (known !== undefined) return known
    const table = new PriceTable(rows)
    this.#own.set(rows, table)
    return table
  }
}

function firstIn(table: PriceTable, provider: string, models: readonly string[]): PriceRow | null {
  if (table.rows.length === 0) return null
  for (const model of models) {
    const row = table.find(provider, model)
    if (row !== null) return row
  }
  return null
}
