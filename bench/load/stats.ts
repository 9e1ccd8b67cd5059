/** The middle of `values` (mean of the two middle ones when their number is even); NaN when empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Figures of interleaved rounds, in their order. */
export interface Rounds {
  readonly median: number
  readonly min: number
  readonly rounds: readonly number[]
}

export function inRounds(rounds: readonly number[]): Rounds {
  return { median: median(rounds), min: Math.min(...rounds), rounds }
}

/**
 * How many times `base` is `figures`: the median over the rounds of one against the other in the same round. Whatever
 * else the machine does for some seconds falls on both and does not show. Of the medians if the rounds do not match.
 */
export function ratioOfRounds(figures: Rounds, base: Rounds): number {
  if (figures.rounds.length !== base.rounds.length) return figures.median / base.median
  return median(figures.rounds.map((figure, round) => figure / base.rounds[round]!))
}

/** `items` in turn, `rounds` times: A B C A B C. Noise of the machine then falls on all alike. */
export function interleave<T>(items: readonly T[], rounds: number): T[] {
  return Array.from({ length: rounds }, () => items).flat()
}
