/**
 * What an expression may cost, from its tree. The unit is a step: one visit of an element by a macro, or
 * as much other work (about 50 ns). A run counts the same steps against its limit.
 */

/** Steps of one run when its caller sets no other limit: 2 to 5 ms of macros, more with long texts in them. */
export const STEPS_MAX = 100_000
/** From here on a run may hold the event loop longer than 1 ms. */
const EXPENSIVE_STEPS = 20_000
/** Bytes of a body that one element of a list in it has at least ("1,"), and usually. */
const BYTES_PER_ELEMENT = 16
/** Bytes that are read in one step: by a function such as json(), and by a regular expression. */
const BYTES_PER_STEP = 16
const BYTES_PER_REGEX_STEP = 2

/** A part of an expression that is evaluated once for each element of `degree` lists of unknown length. */
interface Level {
  fixed: number
  scans: number
  regexScans: number
}

export interface Cost {
  /** Steps apart from work that grows with the data. */
  readonly fixed: number
  /** Macros inside each other over data of unknown length. */
  readonly degree: number
  /** The estimate for data of this size. */
  steps(sizeBytes: number): number
  /** Whether a run over so much data should not hold an event loop. */
  mayBeExpensive(sizeBytes: number): boolean
}

export class CostMeter implements Cost {
  readonly #levels: Level[] = [{ fixed: 0, scans: 0, regexScans: 0 }]
  #depth = 0
  /** Product of the known lengths of the loops that are open. */
  #factor = 1

  step(): void {
    this.#level().fixed += this.#factor
  }

  /** A function that goes through its argument. */
  scan(isRegex: boolean): void {
    if (isRegex) this.#level().regexScans += this.#factor
    else this.#level().scans += this.#factor
  }

  /** What `body` counts happens once per element; `count` is null for data of unknown length. */
  loop<T>(count: number | null, body: () => T): T {
    const before = this.#factor
    if (count === null) this.#depth++
    else this.#factor *= Math.max(1, count)
    const result = body()
    this.#factor = before
    if (count === null) this.#depth--
    return result
  }

  get fixed(): number {
    return this.#levels[0]!.fixed
  }

  get degree(): number {
    return this.#levels.length - 1
  }

  steps(sizeBytes: number): number {
    const elements = Math.ceil(sizeBytes / BYTES_PER_ELEMENT)
    let total = 0
    for (const [degree, { fixed, scans, regexScans }] of this.#levels.entries()) {
      // Elements share the bytes: going through each of them once is going through all of it once.
      const often = elements ** degree
      const passes = elements ** Math.max(0, degree - 1)
      total +=
        fixed * often +
        passes * ((scans * sizeBytes) / BYTES_PER_STEP + (regexScans * sizeBytes) / BYTES_PER_REGEX_STEP)
    }
    return total
  }

  mayBeExpensive(sizeBytes: number): boolean {
    return this.steps(sizeBytes) > EXPENSIVE_STEPS
  }

  #level(): Level {
    while (this.#levels.length <= this.#depth) this.#levels.push({ fixed: 0, scans: 0, regexScans: 0 })
    return this.#levels[this.#depth]!
  }
}
