/** Rows of prices by provider and model. Exact names go ahead of patterns, and longer patterns ahead of shorter. */
import type { PriceRow } from '#engine/contract/price-list.ts'
import { namesOf } from './names.ts'

interface Pattern {
  readonly before: string
  readonly after: string
  readonly row: PriceRow
}

/** Of one provider, or of all. */
class Rows {
  readonly exact = new Map<string, PriceRow>()
  readonly patterns: Pattern[] = []

  add(row: PriceRow): void {
    const star = row.model.indexOf('*')
    if (star < 0) this.exact.set(row.model, row)
    else this.patterns.push({ before: row.model.slice(0, star), after: row.model.slice(star + 1), row })
  }

  find(names: readonly string[]): PriceRow | null {
    for (const name of names) {
      const row = this.exact.get(name)
      if (row !== undefined) return row
    }
    let best: Pattern | null = null
    for (const pattern of this.patterns) {
      if (best !== null && lengthOf(pattern) <= lengthOf(best)) continue
      if (names.some((name) => fits(pattern, name))) best = pattern
    }
    return best === null ? null : best.row
  }
}

const lengthOf = ({ before, after }: Pattern): number => before.length + after.length

function fits({ before, after }: Pattern, name: string): boolean {
  return name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after)
}

export class PriceTable {
  readonly rows: readonly PriceRow[]
  readonly #byProvider = new Map<string | null, Rows>()

  /** Of two rows for one model the last one holds. */
  constructor(rows: readonly PriceRow[]) {
    this.rows = rows
    for (const row of rows) {
      const known = this.#byProvider.get(row.provider)
      const of = known ?? new Rows()
      if (known === undefined) this.#byProvider.set(row.provider, of)
      of.add(row)
    }
  }

  /** Rows of the provider go ahead of those of any. */
  find(provider: string, model: string): PriceRow | null {
    const names = namesOf(model)
    if (names.length === 0) return null
    return this.#byProvider.get(provider)?.find(names) ?? this.#byProvider.get(null)?.find(names) ?? null
  }
}
