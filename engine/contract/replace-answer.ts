/** Another answer in place of the one that response hooks are looking at. */
import type { ErrorCode } from './errors.ts'
import type { Exchange, LocalReply } from './exchange.ts'
import { STOP, type Verdict } from './filter.ts'
import { Slot } from './slot.ts'

export interface Replacement {
  /** Why the exchange does not end with its answer; null: for no error. */
  readonly code: ErrorCode | null
  /** Null: the one of `code`. */
  readonly reply: LocalReply | null
}

/** Waits for the lifecycle, which takes it. */
export const REPLACEMENT = new Slot<Replacement | null>()

/** For response hooks: `return replaceAnswer(ex, replacement)`. Hooks that have not run yet see the new answer. */
export function replaceAnswer(ex: Exchange, replacement: Replacement): Verdict {
  REPLACEMENT.set(ex, replacement)
  return STOP
}
