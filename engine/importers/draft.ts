/** A configuration of weir while it is made of another gateway's file. */
import type { ForeignFile, Imported, Note } from '#engine/contract/importer.ts'
import { type Path, pathText, type Raw } from '#engine/schema/placed.ts'

/** The file is not one of the gateway that it was said to be of. */
export class ImportError extends Error {}

/** Collects notes and comments on the way. */
export class Draft implements Imported {
  readonly value: Raw = {}
  readonly comments: (readonly [at: Path, lines: readonly string[]])[] = []
  readonly notes: Note[] = []

  note(file: ForeignFile, path: Path, reason: string): void {
    this.notes.push({ place: `${file.name}:${file.lineOf(path)}: ${pathText(path)}`, reason })
  }

  /** The comments of the other file at `from` stand above `to`. */
  keep(file: ForeignFile, from: Path, to: Path): void {
    this.comment(to, file.commentsAt(from))
  }

  comment(at: Path, lines: readonly string[]): void {
    if (lines.length > 0) this.comments.push([at, lines])
  }
}
