/** A text in pieces: those that something is the matter with, and what is between them. */

export interface Marked {
  readonly start: number
  readonly end: number
}

export interface Piece<T> {
  readonly text: string
  /** Null: nothing is the matter. */
  readonly mark: T | null
}

/** `marks`: in order, and apart from each other; in UTF-16 units. What is empty is shown as the character behind it. */
export function piecesOf<T extends Marked>(text: string, marks: readonly T[]): Piece<T>[] {
  const pieces: Piece<T>[] = []
  let done = 0
  for (const mark of marks) {
    const start = Math.max(done, mark.start)
    const end = Math.max(mark.end, start + 1)
    if (start > done) pieces.push({ text: text.slice(done, start), mark: null })
    pieces.push({ text: text.slice(start, end) || ' ', mark })
    done = end
  }
  if (done < text.length) pieces.push({ text: text.slice(done), mark: null })
  return pieces
}
