/** What reading the text of a configuration file gives, whichever way it was read. */
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Path } from '#engine/schema/placed.ts'
import type { Problem } from './problems.ts'

export const TEXT_LENGTH_MAX = 16 * 1024 * 1024
/** Real files have 20 levels; the parser's stack ends at about 800. */
export const DEPTH_MAX = 100
/** Values that aliases may add to those that are written out (an "alias bomb" adds billions). */
export const ALIASED_VALUES_MAX = 100_000

export interface Source {
  readonly value: unknown
  /** Mistakes of syntax, variables that are not set, keys given twice, ... */
  readonly problems: readonly Problem[]
  /** The text could not be understood as a whole: there is nothing to validate. */
  readonly broken: boolean
  readonly warnings: readonly { readonly offset: number; readonly message: string }[]
  /** By the offset at which they begin. */
  readonly expanded: ReadonlyMap<number, Expanded>
  /** Offset of the key or the value at `path`, or of the nearest thing around it that exists. */
  locate(path: Path, what: 'key' | 'value'): number
  /** Line and column (from 1) of an offset. */
  position(offset: number): { readonly line: number; readonly column: number }
}
