/**
 * What one connection may make us do in one poll of the event loop. A single read of 64 KiB can hold thousands of
 * requests, the kernel gives up to 32 such reads in a row, and all other ready connections wait for them: four
 * connections with 14 MB of small requests made another client wait for 2.4 s. So work is counted as it is done,
 * whether it ends well or not; a connection that has spent its share stops reading and goes on in a later poll, in
 * turn with the others that have.
 */
import { inTurn, polls } from './round.ts'

/** Units of work in one poll: about 1 ms. A frame, or a piece of a body, is one unit. */
const SHARE = 1024
/** A request: that it is routed, answered and recorded. Its fields are counted beside it. */
export const REQUEST_WORK = 8
/** A debt above this: the last step cost much more than estimated. */
const OVERDRAWN = 256
/** Connections that go on in one poll: what has just arrived from others comes first. */
const PER_POLL = 16

/** A connection that has put work off. */
export interface Deferred {
  /** Called in a turn, in a later poll. */
  goOn(): void
}

export class ReadShare {
  /** Units left; below zero when a step cost more than was left. */
  left = SHARE
  #poll = polls

  /** The last step cost far more than its share: the next ones should be short. */
  get isOverdrawn(): boolean {
    return this.left < -OVERDRAWN
  }

  /** To be called before work begins: another poll, another share. */
  renew(): void {
    if (this.#poll !== polls) this.refill()
  }

  /** Another share, less what was spent too much. */
  refill(): void {
    this.#poll = polls
    this.left = Math.min(SHARE, this.left + SHARE)
  }
}

/** In the order in which they go on. */
const waiting = new Map<Deferred, ReadShare>()
let isScheduled = false

/** Lets `connection` go on when `share` has something to spend again, behind those that wait already. */
export function goOnLater(connection: Deferred, share: ReadShare): void {
  waiting.set(connection, share)
  schedule()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  // Behind all events of this poll; what waits then for the next one does not keep the loop from polling.
  setImmediate(goOn)
}

function goOn(): void {
  isScheduled = false
  let left = Math.min(waiting.size, PER_POLL)
  for (const [connection, share] of waiting) {
    if (left-- === 0) break
    waiting.delete(connection)
    share.refill()
    if (share.left <= 0) waiting.set(connection, share)
    else inTurn(() => connection.goOn())
  }
  if (waiting.size > 0) schedule()
}
