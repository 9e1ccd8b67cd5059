import type { Time } from '#engine/contract/time.ts'

/** Resolves after `ms`, or when `signal` is aborted. */
export function pause(time: Pick<Time, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      callOff()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const callOff = time.after(ms, end)
    signal.addEventListener('abort', end)
  })
}
