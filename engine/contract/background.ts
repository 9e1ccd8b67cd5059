import type { Background } from './filter.ts'

/** Several as one, begun and ended in their order. */
export function together(parts: readonly Background[]): Background {
  return {
    begin: () => parts.forEach((part) => void part.begin()),
    end: () => parts.forEach((part) => void part.end())
  }
}
