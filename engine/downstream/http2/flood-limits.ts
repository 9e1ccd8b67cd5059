/**
 * What a client may do to a connection of HTTP/2 in proportion to its use. Each of the attacks with a name repeats
 * something that is cheap to send: streams that are opened and reset (CVE-2023-44487), or made us reset them
 * (CVE-2025-8671), PING, SETTINGS, PRIORITY, WINDOW_UPDATE and empty frames (CVE-2019-9511 to 9518).
 */
import { Allowance } from '#engine/http2/allowance.ts'
import { IdleFrames } from '#engine/http2/idle-frames.ts'
import { ENHANCE_YOUR_CALM, NO_ERROR } from '#engine/http2/protocol.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

/** Streams that may end early: all that a browser has open, twice; one more for each that was answered. */
const RESETS = 256
const RESETS_PER_S = 33
/** Frames that ask for nothing. */
const IDLE_FRAMES = 1000
const IDLE_FRAMES_PER_S = 100
/** Earned by a stream: its windows, its priority. */
const IDLE_PER_STREAM = 8
/** Earned by a frame of DATA that we sent: windows of stream and connection, a PING that measures the way. */
const IDLE_PER_DATA = 3
/** Answers (acknowledgements, resets) that wait for a client that does not read. */
const REPLIES = 1000

export class FloodLimits {
  readonly #resets = new Allowance(RESETS, RESETS_PER_S, turnStartedAt)
  readonly #idle = new IdleFrames(IDLE_FRAMES, IDLE_FRAMES_PER_S, IDLE_PER_DATA, turnStartedAt)
  #replies = 0

  /** A stream has been answered, and its client had sent nothing but what was asked of it. */
  answered(): void {
    this.#resets.earn(1)
    this.#idle.earn(IDLE_PER_STREAM)
  }

  /** A stream has ended early, by a fault or a wish of the client. */
  reset(): number {
    return this.#resets.spend(turnStartedAt) ? NO_ERROR : ENHANCE_YOUR_CALM
  }

  /** A frame has come that asks for nothing. `dataSent`: frames of DATA that have left so far. */
  idle(dataSent: number): number {
    return this.#idle.take(turnStartedAt, dataSent)
  }

  /** A client that uploads asks how far the way is, and keeps the time. */
  uploaded(): void {
    this.#idle.earn(1)
  }

  /** An answer is written. `isWaiting`: the client does not read. */
  reply(isWaiting: boolean): number {
    this.#replies = isWaiting ? this.#replies + 1 : 0
    return this.#replies > REPLIES ? ENHANCE_YOUR_CALM : NO_ERROR
  }

  /** It has read what waited: on a slow way something may always wait, and not the same. */
  read(): void {
    this.#replies = 0
  }
}
