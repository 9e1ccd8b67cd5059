/** Waits for what becomes true by and by. */
import { setTimeout as after } from 'node:timers/promises'

const PAUSE_MS = 100
const WAIT_MS_MAX = 300_000

/** The first value that `look` gives. Throws an Error when it gives none for minutes. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  pauseMs = PAUSE_MS
): Promise<T> {
  const late = AbortSignal.timeout(WAIT_MS_MAX)
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (late.aborted) throw new Error(`waited in vain for ${what}`)
    await after(pauseMs)
  }
}
