/** Memory in which the wires of a round gather what they send (docs/design/006-how-bytes-leave.md). */

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
