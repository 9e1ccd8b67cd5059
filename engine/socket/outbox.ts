/** Memory in which the wires of a round gather what they send (docs/design/006-how-bytes-leave.md). */

/**
 * How bytes leave, by size: the shortest as one latin1 string with the text around them, the longest
 * as views of where they arrived (copying doubles the cost of 1 MB), those between are gathered in
 * the outbox. Figures in docs/performance.md.
 */
export const TEXT_BYTES_MAX = 1536
export const GATHER_BYTES_MAX = 16 * 1024

export const OUTBOX_BYTES = 256 * 1024

export interface Outbox {
  readonly bytes: Buffer
  used: number
  /** The round (roundsEnded) that `used` belongs to. */
  round: number
}

export function newOutbox(): Outbox {
  return { bytes: Buffer.allocUnsafeSlow(OUTBOX_BYTES), used: 0, round: -1 }
}
