/** What an importer is: the file of another gateway -> a configuration of weir, and what of it is not carried. */
import type { Path, Raw } from '#engine/schema/placed.ts'

/** A file of another gateway, as it was read. */
export interface ForeignFile {
  /** Named in notes. */
  readonly name: string
  readonly value: unknown
  /** From 1, of the key at `path`, or of the nearest thing around it. */
  readonly lineOf: (path: Path) => number
  /** Lines of comments that stand right above `path`, or behind it, without their marks. */
  readonly commentsAt: (path: Path) => readonly string[]
  /** The path of a file that the file refers to, as the output has to write it; the same when there is no such file. */
  readonly pathTo: (path: string) => string
}

/** Something that weir will not do as the other gateway did. */
export interface Note {
  /** "config.yaml:12: litellm_settings.cache" */
  readonly place: string
  readonly reason: string
}

/** A configuration of weir that is being made. */
export interface Imported {
  readonly value: Raw
  /** Lines of a comment by the place in `value` that they stand above. */
  readonly comments: readonly (readonly [at: Path, lines: readonly string[]])[]
  readonly notes: readonly Note[]
}

export interface TakenOut {
  readonly out: Path
  /** Where a policy `authorization` has to refuse everything then; null: nowhere. */
  readonly closed: Path | null
}

export interface Importer {
  /** What the command line calls it. */
  readonly name: string
  /** What people call it. */
  readonly title: string
  /** `files`: the one that was given, and those that it includes. Throws ImportError. */
  import(files: readonly ForeignFile[]): Imported
  /** Paths of other files that it takes settings from. */
  includes(value: unknown): readonly string[]
  /** Whether what is carried of a file stands where it stood, so that notes can say where. */
  keepsPlaces(value: unknown): boolean
  /** What goes when weir refuses what stands at `path`, so that nothing becomes more open than it was. */
  takesOut(path: Path): TakenOut
}

/** A mistake of a configuration. */
export interface Mistake {
  readonly path: Path
  readonly message: string
}

/** What weir says to a configuration whose variables have these values. */
export type MistakesOf = (value: Raw, variables: Readonly<Record<string, string>>) => readonly Mistake[]

/** Makes a configuration that loads of one that may not (engine/importers/settle.ts). */
export type Settle = (
  imported: Imported,
  importer: Pick<Importer, 'takesOut'>,
  mistakesOf: MistakesOf,
  known: Readonly<Record<string, string | undefined>>,
  file: ForeignFile | null
) => Imported
