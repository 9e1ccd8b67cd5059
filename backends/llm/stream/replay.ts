/** A stream that has been kept, as its tap makes it for the client: in several turns when it is long. */
import { Collector } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { CostTap } from './cost-tap.ts'

/** What is read in one turn. A tap takes up to 60 ns for each byte. */
const TURN_BYTES = 32 * 1024

/** What `tap` makes of `buffered`: at once when it is read in one turn. */
export function replay(ex: Exchange, tap: CostTap, buffered: Buffer): Buffer | Promise<Buffer> {
  let made: Buffer = buffered
  // It may grow; room that nothing comes into costs nothing.
  const collector = new Collector({ max: Number.MAX_SAFE_INTEGER, expected: 2 * buffered.length }, null, (bytes) => {
    made = bytes!
  })
  const keep = (bytes: Buffer | null) => bytes !== null && collector.take(bytes, 0, bytes.length)
  const read = (from: number): boolean => {
    const end = Math.min(from + TURN_BYTES, buffered.length)
    keep(tap.body(ex, buffered, from, end))
    if (end < buffered.length) return false
    keep(tap.end(ex))
    collector.end()
    return true
  }
  if (read(0)) return made
  return new Promise((resolve, reject) => {
    let at = TURN_BYTES
    const later = () => inTurn(step)
    const step = (): void => {
      try {
        if (read(at)) resolve(made)
        else setImmediate(later)
      } catch (error) {
        reject(error as Error)
      }
      at += TURN_BYTES
    }
    setImmediate(later)
  })
}
