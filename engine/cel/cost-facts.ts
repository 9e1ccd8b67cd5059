/** llm.cost and llm.costRates of expressions. Numbers are for comparisons; `text` is the exact amount. */
import { costText, type ModelUse, totalBasis, totalCost, unitsOf } from '#engine/contract/model-use.ts'
import { PICO_PLACES } from '#engine/kit/money.ts'

/** Kinds that are priced one by one; all others per million. */
const SINGLE: ReadonlySet<string> = new Set(['request', 'search', 'image', 'second'])

/** Of all attempts. Undefined: no prices are in use. */
export function costFacts(llm: ModelUse): Readonly<Record<string, unknown>> | undefined {
  const cost = totalCost(llm)
  const unknown = llm.costUnknown === undefined ? {} : { unknown: llm.costUnknown }
  if (cost === undefined) return llm.costUnknown === undefined ? undefined : unknown
  return { total: unitsOf(cost), text: costText(cost), basis: totalBasis(llm), ...unknown }
}

/** Units of the currency: for a million tokens, or for one of what is not tokens. */
export function rateFacts({ price }: ModelUse): Readonly<Record<string, unknown>> | undefined {
  if (price === undefined) return undefined
  const entries = Object.entries(price.row.rates).map(([kind, picos]) => [
    kind,
    picos / 10 ** (SINGLE.has(kind) ? PICO_PLACES : PICO_PLACES - 6)
  ])
  return Object.fromEntries([...entries, ['origin', price.origin]]) as Readonly<Record<string, unknown>>
}
