/** What the client of the exchange at hand last did for the connection to a backend that it keeps. */
import { type Exchange, STEP_SENDING } from '#engine/contract/exchange.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

/** A client that sends this much of its body has done something for it; a byte now and then is nothing. */
const PROGRESS_BYTES = 1024

/** Times are of performance.now(). */
export class ClientActivity {
  /** It takes no more of the answer for now, since then; 0: it does. */
  #pausedAt = 0
  #sentAt = 0
  /** Since then. */
  #sentBytes = 0

  begin(): void {
    this.#pausedAt = 0
    this.#sentAt = turnStartedAt
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes
    if (this.#sentBytes < PROGRESS_BYTES) return
    this.#sentBytes = 0
    this.#sentAt = turnStartedAt
  }

  paused(): void {
    this.#pausedAt = turnStartedAt
  }

  resumed(): void {
    this.#pausedAt = 0
  }

  /** Since when `ex` waits for its client alone; 0: for somebody else too. `isFull`: the backend takes nothing now. */
  idleSince(ex: Exchange, isFull: boolean): number {
    if (this.#pausedAt === 0) return ex.requestDone || isFull ? 0 : this.#sentAt
    // Earlier than that a hook has the answer, and a tap that is busy is ours.
    return ex.step === STEP_SENDING && ex.tap?.isBusy !== true ? this.#pausedAt : 0
  }
}
