/** Did you mean: the known word that a mistyped one was probably meant to be. */

/** Longer words are not compared: the work grows with the square. */
const WORD_LENGTH_MAX = 64
/** Nor are more: a configuration may have 30,000 names. */
const WORDS_MAX = 1_000

/** The nearest of `words`, or null when none is near: a third of the letters may differ. */
export function nearestWord(word: string, words: readonly string[]): string | null {
  if (word.length > WORD_LENGTH_MAX) return null
  let best: string | null = null
  let bestDistance = Math.floor(word.length / 3) + 1
  for (const candidate of words.slice(0, WORDS_MAX)) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** All of `words` that `word` may be a slip of, the nearest first. */
export function nearestWords(word: string, words: readonly string[]): string[] {
  if (word.length > WORD_LENGTH_MAX) return []
  const bound = Math.floor(word.length / 3) + 1
  return words
    .slice(0, WORDS_MAX)
    .filter((candidate) => Math.abs(candidate.length - word.length) < bound)
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance < bound)
    .toSorted((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate)
}

/** Letters to insert, remove, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
      }
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
