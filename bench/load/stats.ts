/** The middle of `values` (mean of the two middle ones when their number is even); NaN when empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** `items` in turn, `rounds` times: A B C A B C. Noise of the machine then falls on all alike. */
export function interleave<T>(items: readonly T[], rounds: number): T[] {
  return Array.from({ length: rounds }, () => items).flat()
}
