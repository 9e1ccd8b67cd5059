/** Closing connections that still wait for the peer: bounded in time, so that none can be held for ever. */

/** How long a closed wire may drop what the peer still sends, or wait for it to read the last bytes. */
const LINGER_MS = 5_000
const SWEEP_MS = 500

interface Lingering {
  destroy(): void
}

const waiting = new Map<Lingering, number>()
let interval: NodeJS.Timeout | null = null

/** Destroys `wire` after LINGER_MS unless stopLingering comes first. */
export function keepLingering(wire: Lingering): void {
  waiting.set(wire, performance.now() + LINGER_MS)
  interval ??= setInterval(sweep, SWEEP_MS)
  interval.unref()
}

export function stopLingering(wire: Lingering): void {
  waiting.delete(wire)
}

function sweep(): void {
  const now = performance.now()
  // A Map iterates in order of insertion, and every entry has the same delay: the oldest come first.
  for (const [wire, deadline] of waiting) {
    if (deadline > now) break
    waiting.delete(wire)
    wire.destroy()
  }
  if (waiting.size > 0 || interval === null) return
  clearInterval(interval)
  interval = null
}
