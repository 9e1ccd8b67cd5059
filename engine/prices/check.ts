/** `weir prices check`: which models of a configuration have no price, and which rows are old or rest on one source. */
import type { NamedModel, Price, PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import { Prices } from './book.ts'

const DAY_MS = 86_400_000

/** A model of the configuration. */
export interface CheckedModel {
  readonly backends: readonly string[]
  readonly provider: string
  readonly model: string
  /** `answer`, `provider`: they will know it (NamedModel.otherwise). */
  readonly verdict: 'priced' | 'unknown' | 'provider' | 'answer'
  readonly price: Price | null
}

export interface PriceCheck {
  readonly models: readonly CheckedModel[]
  /** Providers whose model clients name, with their backends. */
  readonly open: readonly { readonly provider: string; readonly backends: readonly string[] }[]
  /** Rows that hold for the models, or all of them where there are no models: with a date, and older than asked. */
  readonly older: readonly Price[]
  /** Of the same, those of the catalogue that one collection alone has, or of which they differ. */
  readonly single: readonly Price[]
}

export interface CheckOptions {
  readonly settings: PriceSettings
  readonly catalogue: readonly PriceRow[]
  /** By the name of the backend; null: no configuration is looked at. */
  readonly models: readonly (NamedModel & { readonly backend: string })[] | null
  /** Milliseconds since 1970. */
  readonly now: number
  /** Older ones are told. */
  readonly daysMax: number
}

export function checkPrices({ settings, catalogue, models, now, daysMax }: CheckOptions): PriceCheck {
  const book = new Prices(() => catalogue)
  book.use(settings).begin()
  const found = checkedModels(book, models ?? [])
  const ofModels = found.flatMap(({ price }) => (price === null ? [] : [price]))
  const rows = models === null ? catalogue.map((row): Price => ({ row, origin: 'catalogue' })) : unique(ofModels)
  return {
    models: found,
    open: openProviders(models ?? []),
    older: rows.filter(({ row }) => row.date !== null && now - Date.parse(row.date) > daysMax * DAY_MS),
    single: rows.filter(({ row }) => row.isCompared === false)
  }
}

/** In the order of the configuration; a model that several backends have stands there once for each price. */
function checkedModels(book: Prices, models: NonNullable<CheckOptions['models']>): readonly CheckedModel[] {
  const known: { readonly own: readonly PriceRow[]; readonly checked: CheckedModel & { backends: string[] } }[] = []
  for (const { provider, model, own, otherwise, backend } of models) {
    if (model === null) continue
    const same = known.find(({ checked, own: other }) => {
      return checked.provider === provider && checked.model === model && isSame(other, own)
    })
    if (same === undefined) {
      const price = book.find(provider, [model], own)
      const verdict = price !== null ? 'priced' : otherwise === 'nothing' ? 'unknown' : otherwise
      known.push({ own, checked: { backends: [backend], provider, model, verdict, price } })
    } else if (!same.checked.backends.includes(backend)) same.checked.backends.push(backend)
  }
  return known.map(({ checked }) => checked)
}

const isSame = (a: readonly PriceRow[], b: readonly PriceRow[]): boolean => a === b || a.length + b.length === 0

function openProviders(models: NonNullable<CheckOptions['models']>): PriceCheck['open'] {
  const backends = new Map<string, Set<string>>()
  for (const { provider, model, backend } of models) {
    if (model !== null) continue
    const known = backends.get(provider) ?? new Set()
    backends.set(provider, known.add(backend))
  }
  return [...backends].map(([provider, names]) => ({ provider, backends: [...names] }))
}

const unique = (prices: readonly Price[]): Price[] => [...new Map(prices.map((price) => [price.row, price])).values()]
