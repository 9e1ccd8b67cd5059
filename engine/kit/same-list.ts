/** Whether two lists have the same entries, the very same objects, in the same order. */
export function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  const { length } = a
  if (length !== b.length) return false
  // A loop: a list of 5,000 routes is compared with every change of one of them.
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false
  return true
}

/** How many entries, the very same objects, two lists have in common at the start, and of the rest at the end. */
export function commonEnds<T>(a: readonly T[], b: readonly T[]): { readonly start: number; readonly end: number } {
  const length = Math.min(a.length, b.length)
  let start = 0
  while (start < length && a[start] === b[start]) start++
  let end = 0
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return { start, end }
}
