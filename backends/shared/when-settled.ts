/** What follows something that an exchange has waited for. */
import { inTurn } from '#engine/socket/round.ts'

/**
 * Runs `step` with the result of `waiting`, null: it has failed; unless it is no longer wanted by then. A turn of
 * its own: timers begin at its start, and the last one may be long over.
 */
export function whenSettled<T>(waiting: Promise<T>, isWanted: () => boolean, step: (outcome: T | null) => void): void {
  const take = (outcome: T | null): void => {
    if (isWanted()) inTurn(step, outcome)
  }
  waiting.then(take, () => take(null))
}
