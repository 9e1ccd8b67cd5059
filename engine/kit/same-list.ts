/** Whether two lists have the same entries, the very same objects, in the same order. */
export const isSameList = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i])
