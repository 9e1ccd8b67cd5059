/** The past of figures, in memory of a fixed size: the older, the coarser. */

/** Seconds of a step, and how many steps are kept: 15 minutes, three hours, a day. */
export const RESOLUTIONS = [
  { step: 1, kept: 900 },
  { step: 10, kept: 1080 },
  { step: 60, kept: 1440 }
] as const

export type Step = (typeof RESOLUTIONS)[number]['step']

export interface Past {
  readonly step: Step
  /** Milliseconds since 1970: the end of the first step. */
  readonly firstAt: number
  /** By name; NaN: not known. */
  readonly series: ReadonlyMap<string, readonly number[]>
}

/** 13,680 bytes each, 3.5 MB in all, whatever comes. */
export const COLUMNS_MAX = 256

/** One figure: a ring of values for each resolution; NaN: nothing is known of that step. */
type Column = readonly Float32Array[]

export class Ring {
  readonly #columns = new Map<string, Column>()
  /** The number of the last step of each resolution since the start; -1: none is over. */
  readonly #last = RESOLUTIONS.map(() => -1)
  #refused = 0

  /** Figures that found no room. */
  get refused(): number {
    return this.#refused
  }

  get names(): readonly string[] {
    return [...this.#columns.keys()]
  }

  /** Number of the last step of resolution `index` that is over; -1: none is. */
  last(index: number): number {
    return this.#last[index]!
  }

  /** Step number `number` of resolution `index` is over; numbers rise. Steps that are left out are unknown. */
  write(index: number, number: number, values: ReadonlyMap<string, number>): void {
    const { kept } = RESOLUTIONS[index]!
    const last = this.#last[index]!
    const from = Math.max(last + 1, number - kept + 1)
    for (const column of this.#columns.values()) {
      for (let at = from; at <= number; at++) column[index]![at % kept] = Number.NaN
    }
    this.#last[index] = number
    for (const [name, value] of values) {
      const column = this.#columns.get(name) ?? this.#made(name)
      if (column !== null) column[index]![number % kept] = value
    }
  }

  /** Values of the steps from `from` to `to`, both included, which are within what is kept. Null: no such figure. */
  read(name: string, index: number, from: number, to: number): number[] | null {
    const values = this.#columns.get(name)?.[index]
    if (values === undefined) return null
    return Array.from({ length: to - from + 1 }, (_, i) => values[(from + i) % values.length]!)
  }

  #made(name: string): Column | null {
    if (this.#columns.size >= COLUMNS_MAX) {
      this.#refused++
      return null
    }
    const column = RESOLUTIONS.map(({ kept }) => new Float32Array(kept).fill(Number.NaN))
    this.#columns.set(name, column)
    return column
  }
}
