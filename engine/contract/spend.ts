/** The spend log: where records of model calls are kept, and for how long (docs/spend.md). Plain data. */
export interface SpendLogSpec {
  /** A folder. */
  readonly path: string
  /** Age at which single records are removed. */
  readonly recordsMaxAgeMs: number
  /** The same of the sums by hour. */
  readonly sumsMaxAgeMs: number
  /** Of the file: beyond, the oldest records are removed. */
  readonly bytesMax: number
}
