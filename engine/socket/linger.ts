/** Closing connections that still wait for the peer: bounded in time, so that none can be held for ever. */

/** How long a closed wire drops what the peer still sends. */
export const LINGER_MS = 5_000
/** How long a peer may take to read the last bytes: a slow one must get its whole response. */
export const FLUSH_MS = 60_000
const SWEEP_MS = 500

interface Lingering {
  destroy(): void
}

const waiting = new Map<Lingering, number>()
let interval: NodeJS.Timeout | null = null

/** Destroys `wire` after `timeMs` unless stopLingering comes first. Called again, it starts anew. */
export function keepLingering(wire: Lingering, timeMs: number): void {
  waiting.set(wire, performance.now() + timeMs)
  interval ??= setInterval(sweep, SWEEP_MS)
  interval.unref()
}

export function stopLingering(wire: Lingering): void {
  waiting.delete(wire)
}

function sweep(): void {
  const now = performance.now()
  for (const [wire, deadline] of waiting) {
    if (deadline > now) continue
    waiting.delete(wire)
    wire.destroy()
  }
  if (waiting.size > 0 || interval === null) return
  clearInterval(interval)
  interval = null
}
