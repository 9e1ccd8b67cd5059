/** What follows something that an exchange has waited for. */
import { inTurn } from '#engine/socket/round.ts'

/**
 * Does `step` with what `waiting` has come to, null: it has failed; unless nobody wants it any more by then. A turn of
 * its own: timers begin at its start, and the last one may be long over.
 */
export function whenSettled<T>(waiting: Promise<T>, isWanted: () => boolean, step: (outcome: T | null) => void): void {
  const take = (outcome: T | null): void => {
    if (isWanted()) inTurn(step, outcome)
  }
  waiting.then(take, () => take(null))
}
