/** A text with marks in it. */
import { type Marked, piecesOf } from './marks.ts'

export interface MarksProps<T extends Marked> {
  readonly text: string
  readonly marks: readonly T[]
  /** Shown when the pointer rests on a mark. */
  readonly titleOf?: (mark: T) => string
}

export function Marks<T extends Marked>({ text, marks, titleOf }: MarksProps<T>) {
  return (
    <pre class="sample">
      {piecesOf(text, marks).map(({ text: part, mark }) =>
        mark === null ? (
          part
        ) : (
          <mark key={mark.start} title={titleOf?.(mark)}>
            {part}
          </mark>
        )
      )}
    </pre>
  )
}
