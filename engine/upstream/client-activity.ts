/** What the client of the exchange at hand last did for the connection to a backend that it keeps. */
import { hasProcessors } from '#engine/contract/body-processor.ts'
import { type Exchange, STEP_SENDING } from '#engine/contract/exchange.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

/** A client that sends this much of its body has done something for it; a byte now and then is nothing. */
const PROGRESS_BYTES = 1024

/**
 * A client that reads steadily is seen to do so now and then only: a socket becomes writable again when a third of its
 * buffer is free (tcp_poll of Linux), and the buffer grows to megabytes. So who has been handed much at a time may
 * read it at this pace before anything is expected.
 */
const READ_BYTES_PER_SECOND = 128 * 1024
/** With the patience of those that look (slow-client-eviction.ts): thirty seconds. */
const READING_MS_MAX = 28_000

/** Times are of performance.now(). */
export class ClientActivity {
  /** It takes no more of the answer for now, since then; 0: it does. */
  #pausedAt = 0
  /** What had gone to the client when it began to take more. */
  #takenBytes = 0
  /** The most that went to it between two pauses. */
  #burstBytes = 0
  /** What had gone to it when it was paused: what waits in a window does not go. */
  #goneBytes = 0
  #sentAt = 0
  /** Since then. */
  #sentBytes = 0
  /** The backend has answered 100 Continue. */
  #isInvited = false

  begin(): void {
    this.#pausedAt = 0
    this.#takenBytes = 0
    this.#burstBytes = 0
    this.#sentAt = turnStartedAt
    this.#sentBytes = 0
    this.#isInvited = false
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes
    if (this.#sentBytes < PROGRESS_BYTES) return
    this.#sentBytes = 0
    this.#sentAt = turnStartedAt
  }

  /** From now on it may send: the backend has asked for the body, or takes more of it again. */
  maySend(isInvited: boolean): void {
    this.#sentAt = turnStartedAt
    this.#isInvited ||= isInvited
  }

  paused(ex: Exchange): void {
    this.#pausedAt = turnStartedAt
    this.#goneBytes = goneTo(ex)
    this.#burstBytes = Math.max(this.#burstBytes, this.#goneBytes - this.#takenBytes)
  }

  resumed(ex: Exchange): void {
    this.#pausedAt = 0
    this.#takenBytes = goneTo(ex)
  }

  /**
   * Since when `ex` waits for its client alone, once that has had time to read; 0: for another party too.
   * `isFull`: the backend takes nothing now.
   */
  idleSince(ex: Exchange, isFull: boolean): number {
    if (hasProcessors(ex)) return 0
    if (this.#pausedAt === 0) return isFull || isBackendsTurn(ex) || this.#isUninvited(ex) ? 0 : this.#sentAt
    // Earlier than that a hook has the answer, and a tap that is busy is ours.
    if (ex.step !== STEP_SENDING || ex.tap?.isBusy === true) return 0
    const bytes = this.#burstBytes + goneTo(ex) - this.#goneBytes
    return this.#pausedAt + Math.min(READING_MS_MAX, (bytes / READ_BYTES_PER_SECOND) * 1_000)
  }

  /** Its client keeps the body back until the backend asks for it (RFC 9110 section 10.1.1). */
  #isUninvited(ex: Exchange): boolean {
    return !this.#isInvited && !ex.bodySent && ex.request.has('expect')
  }
}

/** Behind a whole request it is; and where both may speak it can be: a watch of gRPC keeps its request open. */
function isBackendsTurn(ex: Exchange): boolean {
  return ex.requestDone || ex.response !== null
}

const goneTo = ({ bytesSent, client }: Exchange): number => bytesSent - (client.unsentBytes ?? 0)
